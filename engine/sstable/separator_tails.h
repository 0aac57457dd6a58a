// What the separators of an index have besides their heads, in as little memory as it takes.
#ifndef WINNOW_ENGINE_SSTABLE_SEPARATOR_TAILS_H_
#define WINNOW_ENGINE_SSTABLE_SEPARATOR_TAILS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/coding.h"
#include "engine/base/shared_prefix.h"
#include "engine/sstable/index_block.h"

namespace winnow {

// A separator is the prefix that all share, a suffix, and a trailer. The head, which is kept
// elsewhere, is the first eight bytes of the suffix, filled up with zeros: here are the suffix's
// length and its bytes behind those eight.
//
// Lengths have a byte each, unless one of them needs more. Where the bytes of an entry start is
// kept for every sixteenth; for the others the lengths from there on are added up, which lie in one
// cache line or two. Only searches that meet an equal head get here, and tools.
class SeparatorTails {
 public:
  // Where each part starts in the memory of one, which ends at `end`.
  struct Layout {
    size_t starts, trailers, lengths, prefix, rests, end;
    bool has_trailers, has_wide_lengths;
  };
  static Layout LayOut(const IndexBlock& index);

  SeparatorTails() = default;
  // Copies what it needs of `index`, whose layout `at` is, into the at.end bytes at `memory`, a
  // multiple of eight, which must outlive it.
  SeparatorTails(const IndexBlock& index, const Layout& at, char* memory);

  const SharedPrefix& shared_prefix() const { return prefix_; }
  uint64_t TrailerAt(uint32_t entry) const {
    return trailers_ == nullptr ? 0 : DecodeFixed64(trailers_ + 8 * size_t{entry});
  }
  // The order of the entry's suffix and of `suffix`, both of which have the same head.
  int CompareSuffix(uint32_t entry, std::string_view suffix) const;
  // The separator, as an internal key, of an entry with this head.
  std::string Separator(uint32_t entry, uint64_t head) const;

 private:
  static constexpr size_t kHeadBytes = sizeof(uint64_t);
  static constexpr uint32_t kGroup = 16;
  // A longer suffix makes all lengths wide.
  static constexpr size_t kMostInByte = 255;

  // Of a suffix of `length` bytes: those behind its head.
  static size_t RestBytes(size_t length) { return length - std::min(length, kHeadBytes); }
  size_t LengthAt(uint32_t entry) const {
    return has_wide_lengths_ ? DecodeFixed32(lengths_ + 4 * size_t{entry})
                             : static_cast<uint8_t>(lengths_[entry]);
  }
  std::string_view RestAt(uint32_t entry) const;

  const char* starts_ = nullptr;
  const char* trailers_ = nullptr;  // null: all zero
  const char* lengths_ = nullptr;
  const char* rests_ = nullptr;
  bool has_wide_lengths_ = false;
  SharedPrefix prefix_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SEPARATOR_TAILS_H_
