// The range filter of a table in memory: checked, and ready to be asked.
#ifndef WINNOW_ENGINE_SSTABLE_RANGE_FILTER_BLOCK_H_
#define WINNOW_ENGINE_SSTABLE_RANGE_FILTER_BLOCK_H_

#include <cstddef>
#include <memory>

#include "engine/cache/block_cache.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/format.h"
#include "winnow/filter/filter_state.h"
#include "winnow/filter/range_filter.h"
#include "winnow/filter/resident_memory.h"

namespace winnow {

// Immutable; thread-safe. An optimisation as the other filters are: whatever is wrong with the
// block, it answers "may contain", and state() says why.
class RangeFilterBlock {
 public:
  // Reads the block and checks every byte. `cache`, if not null, is charged with its memory; where
  // that has no room left the filter is not used. Null: no memory even to say so.
  static std::unique_ptr<const RangeFilterBlock> Load(const BlockFile& file,
                                                      const BlockHandle& handle,
                                                      ShardedBlockCache* cache);

  // False: it answers "may contain" to everything.
  bool is_usable() const { return !reader_.always_true(); }
  // kOk also where there was no room for it.
  const filter::FilterState& state() const { return state_; }
  bool lacks_room() const { return lacks_room_; }
  // The state is that of a filter which there was no memory, or no descriptor, for.
  bool lacks_memory() const { return lacks_memory_; }

  size_t memory_bytes() const { return sizeof(*this) + memory_.size(); }
  size_t charged_bytes() const { return charge_ ? memory_.size() : 0; }
  const filter::RangeFilterReader& reader() const { return reader_; }

 private:
  RangeFilterBlock() = default;
  filter::FilterState Read(const BlockFile& file, const BlockHandle& handle);

  filter::ResidentMemory memory_;
  filter::RangeFilterReader reader_;
  filter::FilterState state_;
  CacheCharge charge_;
  bool lacks_room_ = false;
  bool lacks_memory_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_RANGE_FILTER_BLOCK_H_
