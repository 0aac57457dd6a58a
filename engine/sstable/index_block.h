// Index blocks: which block holds a key. Searched in place: the first eight bytes of all
// separators, behind the prefix that they share, lie in one array of numbers.
//
//   header | heads | block ends | trailers | suffix ends | prefix | suffixes      (FORMAT.md)
//
// Entry i stands for block i. Its separator is >= every key of block i and < every key of block
// i + 1. The same layout serves data blocks and, in large tables, index partitions.
#ifndef WINNOW_ENGINE_SSTABLE_INDEX_BLOCK_H_
#define WINNOW_ENGINE_SSTABLE_INDEX_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/shared_prefix.h"
#include "engine/sstable/format.h"

namespace winnow {

// Separators and blocks while a table is built. Blocks lie one behind the other.
class IndexBuilder {
 public:
  // `block_end` is the first byte behind the block's trailer. `separator` is an internal key.
  void Add(std::string_view separator, uint64_t block_end);

  size_t size() const { return block_ends_.size(); }
  std::string_view separator(size_t entry) const;
  uint64_t block_end(size_t entry) const { return block_ends_[entry]; }
  // The contents of an index block for the entries [first, last), the first of whose blocks starts
  // at `first_offset`. Without `share_prefix` separators are stored whole, which is what other
  // comparators than the bytewise one need.
  std::string Encode(size_t first, size_t last, uint64_t first_offset, bool share_prefix) const;
  // Where to cut [first, size()) so that the block of [first, cut) has at most about `bytes`.
  size_t CutAfter(size_t first, size_t bytes) const;
  // Bytes of Encode for all entries, at most.
  size_t EstimatedBytes() const;
  size_t memory_bytes() const;

 private:
  static constexpr size_t kFixedBytesPerEntry = 8 + 8 + 8 + 4;
  size_t SeparatorStart(size_t entry) const { return entry == 0 ? 0 : separator_ends_[entry - 1]; }

  std::string separators_;
  std::vector<size_t> separator_ends_;
  std::vector<uint64_t> block_ends_;
};

// Null if `contents` is an index block that IndexBlock can read without checking anything more,
// and whose blocks lie in [0, limit); else what is wrong with it.
const char* IndexBlockError(std::string_view contents, uint64_t limit);

// A view of contents that IndexBlockError found nothing wrong with. Cheap to copy.
class IndexBlock {
 public:
  IndexBlock() = default;
  explicit IndexBlock(const char* contents);

  uint32_t size() const { return num_entries_; }

  // The first entry whose separator is >= (user_key, trailer) in internal order: the one block that
  // can hold the first key from there on. size() if there is none.
  uint32_t Find(const InternalKeyComparator& comparator, std::string_view user_key,
                uint64_t trailer) const;

  // A separator is the prefix that all share, a suffix, and a trailer; its head is the eight bytes
  // behind the prefix.
  const SharedPrefix& shared_prefix() const { return prefix_; }
  uint64_t HeadAt(uint32_t entry) const { return DecodeFixed64(heads_ + 8 * size_t{entry}); }
  std::string_view suffix(uint32_t entry) const {
    const uint32_t start = entry == 0 ? 0 : DecodeFixed32(suffix_ends_ + 4 * size_t{entry - 1});
    return {suffixes_ + start, DecodeFixed32(suffix_ends_ + 4 * size_t{entry}) - start};
  }
  uint64_t TrailerAt(uint32_t entry) const {
    return trailers_ == nullptr ? 0 : DecodeFixed64(trailers_ + 8 * size_t{entry});
  }
  // Bytewise.
  int CompareSuffix(uint32_t entry, std::string_view other) const {
    return CompareBytes(suffix(entry), other);
  }

  BlockHandle handle(uint32_t entry) const {
    const uint64_t start = entry == 0 ? 0 : EndOf(entry - 1);
    return {first_offset_ + start, EndOf(entry) - start - kBlockTrailerBytes};
  }
  uint64_t first_offset() const { return first_offset_; }
  uint64_t end_offset() const {
    return num_entries_ == 0 ? first_offset_ : first_offset_ + EndOf(num_entries_ - 1);
  }

  // The separator as an internal key.
  std::string separator(uint32_t entry) const;
  // Does each head stand for its separator, as Find takes it to?
  bool HeadsAgree() const;
  // Is the user key of the entry's separator `user_key`, and may that key go on in the next block?
  bool StraddlesWith(uint32_t entry, std::string_view user_key) const;

 private:
  uint64_t EndOf(uint32_t entry) const {
    return wide_ ? DecodeFixed64(ends_ + 8 * size_t{entry})
                 : DecodeFixed32(ends_ + 4 * size_t{entry});
  }

  uint32_t num_entries_ = 0;
  bool wide_ = false;
  uint64_t first_offset_ = 0;
  const char* heads_ = nullptr;
  const char* ends_ = nullptr;
  const char* trailers_ = nullptr;  // null: all zero
  const char* suffix_ends_ = nullptr;
  SharedPrefix prefix_;
  const char* suffixes_ = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_INDEX_BLOCK_H_
