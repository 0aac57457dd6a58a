#include "engine/write/commit_validator.h"

#include "winnow/filter/hash.h"

namespace winnow {

// Hashes are made when they are first asked for, and once for all members that are validated.
bool EarlierUpdates::MayWrite(uint32_t family_id, std::string_view key) {
  for (; num_hashed_ < batches_.size(); num_hashed_++) {
    BatchReader reader(batches_[num_hashed_]->encoded());
    BatchUpdate update;
    for (bool more = true; reader.Next(&update, &more).ok() && more;) {
      // The id as the seed: equal keys of two families have hashes of their own.
      hashes_.insert(filter::HashKey(update.key, update.family_id));
    }
  }
  return hashes_.contains(filter::HashKey(key, family_id));
}

void EarlierUpdates::ForEach(absl::FunctionRef<bool(const BatchUpdate&)> visit) const {
  for (const WriteBatch* batch : batches_) {
    BatchReader reader(batch->encoded());
    BatchUpdate update;
    for (bool more = true; reader.Next(&update, &more).ok() && more;) {
      if (!visit(update)) return;
    }
  }
}

}  // namespace winnow
