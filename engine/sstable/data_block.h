// The contents of a data block (FORMAT.md): keys and values lie apart, so that a search for a key
// touches the first few cache lines of the block and then the one value.
//
//   header | restarts | entries (key parts) | values
#ifndef WINNOW_ENGINE_SSTABLE_DATA_BLOCK_H_
#define WINNOW_ENGINE_SSTABLE_DATA_BLOCK_H_

#include <cstdint>
#include <string_view>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"

namespace winnow {

// Offsets in the header and sizes; data_block_builder.cc writes what is read here.
struct DataBlockLayout {
  static constexpr size_t kNumEntriesAt = 0;        // u32
  static constexpr size_t kEntriesAt = 4;           // u32: offset of the first entry
  static constexpr size_t kValuesAt = 8;            // u32: offset of the first value
  static constexpr size_t kRestartIntervalAt = 12;  // u16
  static constexpr size_t kTrailerWidthAt = 14;     // u8: 0 to 8
  static constexpr size_t kFlagsAt = 15;            // u8: 0; others: refused
  static constexpr size_t kBaseTrailerAt = 16;      // u64
  static constexpr size_t kHeaderBytes = 24;
  static constexpr size_t kRestartBytes = 8;  // u32 offset of its entry, u32 offset of its value
};

// Null if `contents` is a data block that every function below can read without checking anything
// more, else what is wrong with it. Does not check that keys ascend.
const char* DataBlockError(std::string_view contents);

// For those who look for a block without knowing where it ends. How many bytes header, restarts and
// keys of the block have that begins with these bytes; 0: no block begins with them.
uint64_t DataBlockKeysEnd(std::string_view beginning);
// The size of the block whose header, restarts and keys these are; 0: of none.
uint64_t DataBlockBytes(std::string_view keys);

// One entry: its key is the first `shared` bytes of the key before it, then `delta`.
struct BlockEntry {
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_length;
  uint64_t trailer;
  const char* delta;
  const char* next;  // the entry behind this one

  std::string_view delta_view() const { return {delta, unshared}; }
};

// Where a search in a block ended.
struct BlockPosition {
  const char* entry = nullptr;  // DataBlock::end() if all entries are smaller
  const char* value = nullptr;
  uint32_t index = 0;  // of the entry in the block
  // The entry's key starts with this many bytes of the key that was sought; its delta follows.
  uint32_t shared = 0;
  // How many bytes the user key that was sought has in common with that of the entry, and of the
  // entry before; 0 where there is none in the block, or the order is not that of the bytes.
  uint32_t common = 0;
  uint32_t common_before = 0;
  bool has_entry = false;        // false: all entries of the block are smaller
  bool user_key_equal = false;   // the entry has the user key that was sought
  bool user_key_before = false;  // a smaller entry of the block has it: a newer version
};

// A view of contents that DataBlockError found nothing wrong with, followed by at least eight
// readable bytes.
class DataBlock {
 public:
  DataBlock() = default;
  explicit DataBlock(const char* contents)
      : data_(contents),
        num_entries_(DecodeFixed32(contents + DataBlockLayout::kNumEntriesAt)),
        entries_offset_(DecodeFixed32(contents + DataBlockLayout::kEntriesAt)),
        values_offset_(DecodeFixed32(contents + DataBlockLayout::kValuesAt)),
        base_trailer_(DecodeFixed64(contents + DataBlockLayout::kBaseTrailerAt)) {
    uint16_t interval;
    std::memcpy(&interval, contents + DataBlockLayout::kRestartIntervalAt, sizeof(interval));
    restart_interval_ = interval;
    trailer_width_ = static_cast<uint8_t>(contents[DataBlockLayout::kTrailerWidthAt]);
    trailer_mask_ = trailer_width_ == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * trailer_width_)) - 1;
  }

  // Prefetches the lines that hold the keys of a block of ordinary size.
  static void PrefetchKeys(const char* contents) {
    constexpr size_t kLineBytes = 64;
    constexpr size_t kLines = 10;
    for (size_t line = 0; line < kLines; line++) __builtin_prefetch(contents + line * kLineBytes);
  }

  uint32_t num_entries() const { return num_entries_; }
  uint32_t restart_interval() const { return restart_interval_; }
  uint32_t num_restarts() const {
    return (num_entries_ + restart_interval_ - 1) / restart_interval_;
  }
  const char* begin() const { return data_ + entries_offset_; }
  const char* end() const { return data_ + values_offset_; }
  const char* RestartEntry(uint32_t restart) const {
    return data_ + DecodeFixed32(RestartAt(restart));
  }
  const char* RestartValue(uint32_t restart) const {
    return data_ + DecodeFixed32(RestartAt(restart) + 4);
  }

  // `at` is an entry: begin(), RestartEntry() or BlockEntry::next, before end().
  BlockEntry EntryAt(const char* at) const {
    const Lengths lengths = LengthsAt(at);
    const char* const delta = lengths.trailer + trailer_width_;
    return {lengths.shared, lengths.unshared,        lengths.value_length, TrailerOf(lengths),
            delta,          delta + lengths.unshared};
  }

  // The first entry >= (user_key, trailer) in internal order.
  BlockPosition Seek(const InternalKeyComparator& comparator, std::string_view user_key,
                     uint64_t trailer) const {
    return comparator.is_bytewise() ? SeekBytewise(user_key, trailer)
                                    : SeekByComparator(comparator, user_key, trailer);
  }

 private:
  // What an entry begins with, and where its trailer follows.
  struct Lengths {
    uint32_t shared;
    uint32_t unshared;
    uint32_t value_length;
    const char* trailer;
  };
  Lengths LengthsAt(const char* at) const {
    const uint32_t lengths = DecodeFixed32(at);
    uint32_t shared = lengths & 0x7f;
    uint32_t unshared = (lengths >> 8) & 0x7f;
    uint32_t value_length = (lengths >> 16) & 0x7f;
    const char* trailer = at + 3;
    // Copied out field by field: the struct would put those of ordinary entries into memory too.
    if ((lengths & 0x808080) != 0) [[unlikely]] {
      const Lengths long_lengths = LongLengthsAt(at);
      shared = long_lengths.shared;
      unshared = long_lengths.unshared;
      value_length = long_lengths.value_length;
      trailer = long_lengths.trailer;
    }
    return {shared, unshared, value_length, trailer};
  }
  uint64_t TrailerOf(const Lengths& lengths) const {
    return base_trailer_ + (DecodeFixed64(lengths.trailer) & trailer_mask_);
  }
  Lengths LongLengthsAt(const char* at) const;
  const char* RestartAt(uint32_t restart) const {
    return data_ + DataBlockLayout::kHeaderBytes + size_t{restart} * DataBlockLayout::kRestartBytes;
  }
  template <typename IsBefore>
  uint32_t LastRestartBefore(const IsBefore& is_before) const;
  BlockPosition SeekBytewise(std::string_view user_key, uint64_t trailer) const;
  BlockPosition SeekByComparator(const InternalKeyComparator& comparator, std::string_view user_key,
                                 uint64_t trailer) const;

  const char* data_ = nullptr;
  uint32_t num_entries_ = 0;
  uint32_t entries_offset_ = 0;
  uint32_t values_offset_ = 0;
  uint32_t restart_interval_ = 1;
  uint32_t trailer_width_ = 0;
  uint64_t trailer_mask_ = 0;
  uint64_t base_trailer_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_DATA_BLOCK_H_
