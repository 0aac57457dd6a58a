// The block of an SSTable that holds its range tombstones (FORMAT.md, "Range tombstone block").
#ifndef WINNOW_ENGINE_SSTABLE_RANGE_TOMBSTONE_BLOCK_H_
#define WINNOW_ENGINE_SSTABLE_RANGE_TOMBSTONE_BLOCK_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/range_tombstones.h"

namespace winnow {

// Fragments while a table is built, in order; the next begins where the one before ends, or later.
class RangeTombstoneBlockBuilder {
 public:
  // `sequences` descend, and are one or more.
  void Add(std::string_view begin, std::string_view end, std::span<const SequenceNumber> sequences);

  bool empty() const { return num_fragments_ == 0; }
  // One for each sequence number of each fragment.
  uint64_t num_tombstones() const { return num_tombstones_; }
  std::string_view first_begin() const { return first_begin_; }
  SequenceNumber first_sequence() const { return first_sequence_; }
  std::string_view last_end() const { return last_end_; }
  SequenceNumber smallest_sequence() const { return smallest_sequence_; }
  SequenceNumber largest_sequence() const { return largest_sequence_; }
  size_t EstimatedBytes() const { return fragments_.size() + sizeof(uint32_t); }
  std::string Finish() const;

 private:
  std::string fragments_;
  uint32_t num_fragments_ = 0;
  uint64_t num_tombstones_ = 0;
  std::string first_begin_;
  SequenceNumber first_sequence_ = 0;
  std::string last_end_;
  SequenceNumber smallest_sequence_ = kMaxSequenceNumber;
  SequenceNumber largest_sequence_ = 0;
};

// Appends the tombstones, whose keys lie in `contents`. Null, or what is wrong with the bytes: they
// are malformed, or a fragment is empty or begins before the one before it ends.
const char* ReadRangeTombstoneBlock(std::string_view contents,
                                    const InternalKeyComparator& comparator,
                                    std::vector<RangeTombstone>* tombstones);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_RANGE_TOMBSTONE_BLOCK_H_
