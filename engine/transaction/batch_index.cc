// The index holds offsets, not bytes: a batch's buffer moves as it grows, and what is at an offset
// stays. Offsets are also the batch's clock: of two updates the later one has the larger offset, as
// an entry of the database would have the larger sequence number.
#include "engine/transaction/batch_index.h"

#include <algorithm>

namespace winnow {

namespace {

uint32_t OffsetIn(std::string_view encoded, std::string_view part) {
  return static_cast<uint32_t>(part.data() - encoded.data());
}

// Over the updates since the mark; the header is not read again.
BatchReader ReaderSince(const WriteBatch& batch, const WriteBatchMark& mark) {
  return {batch.encoded().substr(mark.encoded_bytes), batch.num_updates() - mark.num_updates};
}

}  // namespace

// Linear in what was added, and for each of it logarithmic in what is there.
void BatchIndex::AddSince(const WriteBatchMark& mark, const InternalKeyComparator& comparator) {
  const std::string_view encoded = batch_->encoded();
  BatchReader reader = ReaderSince(*batch_, mark);
  BatchUpdate added;
  for (bool more = true; reader.Next(&added, &more).ok() && more;) {
    FamilyUpdates& updates =
        families_.try_emplace(added.family_id, batch_, comparator).first->second;
    const uint32_t offset = OffsetIn(encoded, added.key);
    if (added.type == EntryType::kRangeDelete) {
      updates.range_deletions.Add(added.key, added.value, offset);
      continue;
    }
    Update update;
    update.type = added.type;
    has_operands_ = has_operands_ || added.type == EntryType::kMerge;
    update.key_offset = offset;
    update.key_bytes = static_cast<uint32_t>(added.key.size());
    update.value_bytes = static_cast<uint32_t>(added.value.size());
    // Of a deletion there is no value at all, and its view points nowhere.
    if (update.value_bytes > 0) update.value_offset = OffsetIn(encoded, added.value);
    updates.points.insert(update);
  }
}

// While the batch still has the bytes: the order of the index compares keys where they lie in it.
// What AddSince did not come to, for want of memory, is not found, and that is fine.
void BatchIndex::RemoveSince(const WriteBatchMark& mark) {
  // A cursor stands on the newest update at the furthest: none loses its place.
  if (mark.num_updates == batch_->num_updates()) return;
  removals_++;
  const std::string_view encoded = batch_->encoded();
  BatchReader reader = ReaderSince(*batch_, mark);
  BatchUpdate update;
  for (bool more = true; reader.Next(&update, &more).ok() && more;) {
    const auto updates = families_.find(update.family_id);
    if (updates == families_.end()) continue;  // it was not added, for want of memory
    const uint32_t offset = OffsetIn(encoded, update.key);
    if (update.type == EntryType::kRangeDelete) {
      updates->second.range_deletions.RemoveFrom(offset);
      continue;
    }
    // Key and offset are all that the order looks at.
    Update place;
    place.key_offset = offset;
    place.key_bytes = static_cast<uint32_t>(update.key.size());
    updates->second.points.erase(place);
  }
}

const BatchIndex::FamilyUpdates* BatchIndex::UpdatesOf(uint32_t family_id) const {
  const auto updates = families_.find(family_id);
  return updates == families_.end() ? nullptr : &updates->second;
}

BatchIndex::KeyUpdates BatchIndex::Collect(const Updates& points, std::string_view key,
                                           uint32_t below, uint32_t covering) {
  KeyUpdates collected;
  // A range deletion ends the walk to older updates, as one of the key alone does.
  collected.any = collected.hides_base = covering != 0;
  // Newest first, down to what settles the value: a put, a deletion of the key or of a range over
  // it. Only operands are passed on the way, so that this takes time linear in those.
  const Order order = points.key_comp();
  for (auto at = points.lower_bound(Place{key, below});
       at != points.end() && at->key_offset > covering &&
       order.comparator().CompareUserKeys(order.Key(*at), key) == 0;
       ++at) {
    collected.any = true;
    if (at->type == EntryType::kMerge) {
      collected.operands.push_back(order.Value(*at));
      continue;
    }
    collected.hides_base = true;
    if (at->type == EntryType::kPut) collected.value = order.Value(*at);
    break;
  }
  std::reverse(collected.operands.begin(), collected.operands.end());
  return collected;
}

}  // namespace winnow
