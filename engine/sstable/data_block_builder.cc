#include "engine/sstable/data_block_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/coding.h"
#include "engine/base/large_buffer.h"
#include "engine/sstable/data_block.h"

namespace winnow {

// Two strings collect what the block will hold apart: keys that a search reads in a row, and
// values, of which it reads one. The entries' lengths and trailers wait in a vector.
void DataBlockBuilder::Add(std::string_view user_key, size_t shared, uint64_t trailer,
                           std::string_view value) {
  if (entries_.size() % restart_interval_ == 0) shared = 0;
  const size_t unshared = user_key.size() - shared;
  entries_.push_back({static_cast<uint32_t>(shared), static_cast<uint32_t>(unshared),
                      static_cast<uint32_t>(value.size()), trailer});
  deltas_.append(user_key.substr(shared));
  values_.append(value);
}

size_t DataBlockBuilder::EstimatedBytes() const {
  // An estimate, for the decision to cut the block: lengths of more than 127 take more,
  // and trailers of a fully compacted block, all with sequence number 0, take nothing.
  constexpr size_t kBytesPerEntry = 3 + 4;  // lengths and the usual width of a trailer
  return DataBlockLayout::kHeaderBytes + values_.size() + deltas_.size() +
         entries_.size() * kBytesPerEntry +
         (entries_.size() / restart_interval_ + 1) * DataBlockLayout::kRestartBytes;
}

// Three entries with a restart interval of 2:
//
//   | header (24) | restart 0 | restart 1 | entry 0, 1, 2 | value 0, 1, 2 |
//
//   restart 0: where entry 0 and value 0 begin
//   restart 1: where entry 2 and value 2 begin
//
// An entry is three varints (shared, unshared, value length), its trailer's difference from the
// smallest one in `width` bytes, and the unshared bytes of its user key.
void DataBlockBuilder::Finish(std::string* out) {
  using Layout = DataBlockLayout;
  uint64_t smallest_trailer = ~uint64_t{0};
  uint64_t largest_trailer = 0;
  for (const Entry& entry : entries_) {
    smallest_trailer = std::min(smallest_trailer, entry.trailer);
    largest_trailer = std::max(largest_trailer, entry.trailer);
  }
  // Trailers are stored as differences from the smallest one, in as many bytes as the largest
  // difference needs: one width for all, so that an entry's trailer is one load and one mask. In a
  // block whose entries were written at about the same time two or three bytes suffice, after a
  // full compaction none.
  const size_t width =
      (static_cast<size_t>(std::bit_width(largest_trailer - smallest_trailer)) + 7) / 8;

  const size_t start = out->size();
  const size_t num_restarts = (entries_.size() + restart_interval_ - 1) / restart_interval_;
  const size_t entries_at = Layout::kHeaderBytes + num_restarts * Layout::kRestartBytes;
  const size_t largest_entries_bytes =
      entries_.size() * (3 * kMaxVarint32Bytes + width) + deltas_.size();
  // Trailers are written eight bytes at a time; the surplus is overwritten or cut off.
  out->resize(start + entries_at + largest_entries_bytes + values_.size() + sizeof(uint64_t));
  char* const block = out->data() + start;

  char* at = block + entries_at;
  const char* delta = deltas_.data();
  // Where values begin is known only when the last entry has been encoded, since varints vary in
  // length.
  size_t value_at = 0;  // from the first value; the section's offset is added below
  for (size_t i = 0; i < entries_.size(); i++) {
    const Entry& entry = entries_[i];
    if (i % restart_interval_ == 0) {
      char* const restart =
          block + Layout::kHeaderBytes + i / restart_interval_ * Layout::kRestartBytes;
      EncodeFixed32(restart, static_cast<uint32_t>(at - block));
      EncodeFixed32(restart + 4, static_cast<uint32_t>(value_at));
    }
    at = EncodeVarint32(at, entry.shared);
    at = EncodeVarint32(at, entry.unshared);
    at = EncodeVarint32(at, entry.value_length);
    EncodeFixed64(at, entry.trailer - smallest_trailer);
    at += width;
    std::memcpy(at, delta, entry.unshared);
    at += entry.unshared;
    delta += entry.unshared;
    value_at += entry.value_length;
  }
  const size_t values_at = static_cast<size_t>(at - block);
  for (size_t i = 0; i < num_restarts; i++) {
    char* const restart = block + Layout::kHeaderBytes + i * Layout::kRestartBytes + 4;
    EncodeFixed32(restart, DecodeFixed32(restart) + static_cast<uint32_t>(values_at));
  }
  std::memcpy(at, values_.data(), values_.size());
  out->resize(start + values_at + values_.size());

  char* const header = out->data() + start;
  const uint16_t interval = static_cast<uint16_t>(restart_interval_);
  EncodeFixed32(header + Layout::kNumEntriesAt, static_cast<uint32_t>(entries_.size()));
  EncodeFixed32(header + Layout::kEntriesAt, static_cast<uint32_t>(entries_at));
  EncodeFixed32(header + Layout::kValuesAt, static_cast<uint32_t>(values_at));
  std::memcpy(header + Layout::kRestartIntervalAt, &interval, sizeof(interval));
  header[Layout::kTrailerWidthAt] = static_cast<char>(width);
  header[Layout::kFlagsAt] = 0;
  EncodeFixed64(header + Layout::kBaseTrailerAt, smallest_trailer);

  entries_.clear();
  deltas_.clear();
  FreeIfLarge(&deltas_);
  values_.clear();
  FreeIfLarge(&values_);
}

}  // namespace winnow
