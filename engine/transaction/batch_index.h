// Which updates of a write batch concern a key, and which of them is the newest.
#ifndef WINNOW_ENGINE_TRANSACTION_BATCH_INDEX_H_
#define WINNOW_ENGINE_TRANSACTION_BATCH_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/transaction/batch_tombstones.h"
#include "engine/write/batch_format.h"
#include "winnow/write_batch.h"

namespace winnow {

// Over a batch that grows at its end and is cut back there. Each update has a place of its own, so
// that what the batch held before some of them can be seen after them.
class BatchIndex {
 public:
  // Where an update's bytes are in the batch, which has less than 2^31 of them. A later update has
  // a larger offset.
  struct Update {
    uint32_t key_offset = 0;
    uint32_t key_bytes = 0;
    uint32_t value_offset = 0;
    uint32_t value_bytes = 0;
    EntryType type = EntryType::kPut;
  };
  // Between the updates of a key whose offset is at least `below` and, after it, the older ones.
  struct Place {
    std::string_view key;
    uint32_t below;
  };
  static constexpr uint32_t kBeforeAll = UINT32_MAX;
  static constexpr uint32_t kBehindAll = 0;

  // By key; of one key the newest first.
  class Order {
   public:
    using is_transparent = void;
    Order(const WriteBatch* batch, const InternalKeyComparator& comparator)
        : batch_(batch), comparator_(comparator) {}

    bool operator()(const Update& a, const Update& b) const {
      const int order = comparator_.CompareUserKeys(Key(a), Key(b));
      return order != 0 ? order < 0 : a.key_offset > b.key_offset;
    }
    bool operator()(const Update& a, const Place& b) const {
      const int order = comparator_.CompareUserKeys(Key(a), b.key);
      return order != 0 ? order < 0 : a.key_offset >= b.below;
    }
    bool operator()(const Place& a, const Update& b) const {
      const int order = comparator_.CompareUserKeys(a.key, Key(b));
      return order != 0 ? order < 0 : a.below > b.key_offset;
    }

    std::string_view Key(const Update& update) const {
      return batch_->encoded().substr(update.key_offset, update.key_bytes);
    }
    std::string_view Value(const Update& update) const {
      return batch_->encoded().substr(update.value_offset, update.value_bytes);
    }
    const InternalKeyComparator& comparator() const { return comparator_; }

   private:
    const WriteBatch* batch_;
    InternalKeyComparator comparator_;
  };
  using Updates = std::set<Update, Order>;
  // All of one column family.
  struct FamilyUpdates {
    FamilyUpdates(const WriteBatch* batch, const InternalKeyComparator& comparator)
        : points(Order(batch, comparator)), range_deletions(comparator) {}

    bool empty() const { return points.empty() && range_deletions.empty(); }

    Updates points;
    BatchTombstones range_deletions;
  };

  // `batch` is empty and outlives the index.
  explicit BatchIndex(const WriteBatch* batch) : batch_(batch) {}
  BatchIndex(const BatchIndex&) = delete;
  BatchIndex& operator=(const BatchIndex&) = delete;

  // The batch has grown since `mark`, by updates of one column family, whose order is given. Out of
  // memory: some may be missing, and RemoveSince, and cutting the batch back, brings all to where
  // it was.
  void AddSince(const WriteBatchMark& mark, const InternalKeyComparator& comparator);
  // The batch is about to be cut back to `mark`.
  void RemoveSince(const WriteBatchMark& mark);

  // Null: there is none of this family.
  const FamilyUpdates* UpdatesOf(uint32_t family_id) const;
  // What a batch says of one key. The bytes are the batch's.
  struct KeyUpdates {
    bool any = false;
    // Of a Put; not set with `hides_base` after a deletion, of a range too.
    std::optional<std::string_view> value;
    bool hides_base = false;                 // value or deletion: the database does not matter
    std::vector<std::string_view> operands;  // since then, oldest first
  };
  static KeyUpdates Collect(const FamilyUpdates& updates, std::string_view key) {
    const BatchTombstones& range_deletions = updates.range_deletions;
    const uint32_t covering = range_deletions.empty() ? 0 : range_deletions.NewestCovering(key);
    return Collect(updates.points, key, kBeforeAll, covering);
  }
  // Of updates whose offset is smaller than `below`. `covering` is that of the newest range
  // deletion among them that covers the key; 0: none does.
  static KeyUpdates Collect(const Updates& points, std::string_view key, uint32_t below,
                            uint32_t covering);
  // The offsets of all updates made so far are smaller, and those of later ones are not: an empty
  // key may lie at the very end of the batch, and before a later key stand its type and its length.
  uint32_t end() const { return static_cast<uint32_t>(batch_->size_bytes() + 1); }
  // There has been a merge operand.
  bool has_operands() const { return has_operands_; }
  // Changes whenever updates are removed.
  uint64_t removals() const { return removals_; }

 private:
  const WriteBatch* const batch_;
  std::map<uint32_t, FamilyUpdates> families_;
  uint64_t removals_ = 0;
  bool has_operands_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_BATCH_INDEX_H_
