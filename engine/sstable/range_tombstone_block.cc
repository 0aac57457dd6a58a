#include "engine/sstable/range_tombstone_block.h"

#include <algorithm>

#include "engine/base/coding.h"

namespace winnow {

// A fragment as FORMAT.md has it. After the largest number come differences, which are small where
// ranges were deleted again and again: one or two bytes each.
void RangeTombstoneBlockBuilder::Add(std::string_view begin, std::string_view end,
                                     std::span<const SequenceNumber> sequences) {
  if (num_fragments_++ == 0) {
    first_begin_ = begin;
    first_sequence_ = sequences.front();
  }
  num_tombstones_ += sequences.size();
  last_end_ = end;
  largest_sequence_ = std::max(largest_sequence_, sequences.front());
  smallest_sequence_ = std::min(smallest_sequence_, sequences.back());
  PutLengthPrefixed(&fragments_, begin);
  PutLengthPrefixed(&fragments_, end);
  PutVarint64(&fragments_, sequences.size());
  PutVarint64(&fragments_, sequences.front());
  for (size_t i = 1; i < sequences.size(); i++) {
    PutVarint64(&fragments_, sequences[i - 1] - sequences[i]);
  }
}

std::string RangeTombstoneBlockBuilder::Finish() const {
  std::string contents;
  contents.reserve(EstimatedBytes());
  PutFixed32(&contents, num_fragments_);
  contents.append(fragments_);
  return contents;
}

// Nothing is allocated by a number that the bytes do not bear out: each tombstone has one of them
// at least. Of bytes that are refused some may have been appended, which callers drop.
const char* ReadRangeTombstoneBlock(std::string_view contents,
                                    const InternalKeyComparator& comparator,
                                    std::vector<RangeTombstone>* tombstones) {
  constexpr const char* kMalformed = "malformed range tombstones";
  uint32_t num_fragments;
  if (!GetFixed32(&contents, &num_fragments) || num_fragments == 0) return kMalformed;
  bool has_last_end = false;
  std::string_view last_end;
  for (uint32_t i = 0; i < num_fragments; i++) {
    RangeTombstone tombstone;
    uint64_t num_sequences;
    if (!GetLengthPrefixed(&contents, &tombstone.begin) ||
        !GetLengthPrefixed(&contents, &tombstone.end) || !GetVarint64(&contents, &num_sequences) ||
        num_sequences == 0 || num_sequences > contents.size()) {
      return kMalformed;
    }
    if (comparator.CompareUserKeys(tombstone.begin, tombstone.end) >= 0) {
      return "a range tombstone ends before it begins";
    }
    // Fragments may touch, as neighbours of different numbers do, but not overlap.
    if (has_last_end && comparator.CompareUserKeys(last_end, tombstone.begin) > 0) {
      return "range tombstones out of order";
    }
    last_end = tombstone.end;
    has_last_end = true;
    for (uint64_t j = 0; j < num_sequences; j++) {
      uint64_t number;
      if (!GetVarint64(&contents, &number)) return kMalformed;
      if (j > 0) {
        // Each is smaller than the one before, and none is 0.
        if (number == 0 || number >= tombstone.sequence) return kMalformed;
        number = tombstone.sequence - number;
      }
      // 0 is for entries that every tombstone hides.
      if (number == 0 || number > kMaxSequenceNumber) return kMalformed;
      tombstone.sequence = number;
      tombstones->push_back(tombstone);
    }
  }
  return contents.empty() ? nullptr : kMalformed;
}

}  // namespace winnow
