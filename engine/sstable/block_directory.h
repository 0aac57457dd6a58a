// The index of a table's data blocks, laid out for look-ups: a search ends in the one cache line
// that also says where the block is, in the file and in memory.
//
// It says all that the index block does, in about the same memory, so that this need not be kept.
#ifndef WINNOW_ENGINE_SSTABLE_BLOCK_DIRECTORY_H_
#define WINNOW_ENGINE_SSTABLE_BLOCK_DIRECTORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/sstable/data_block.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_block.h"
#include "engine/sstable/separator_tails.h"
#include "winnow/filter/resident_memory.h"

namespace winnow {

// Made of an index block, whose entries it numbers alike. Thread-safe.
//
// Above the lines stands a tree of which each node is one cache line with the last heads of eight
// lines, or nodes, below: 14 probes of a binary search become four nodes, of which all but the
// lowest stay in the processor's nearest caches.
//
// A hint says where a block was last found in memory. Hints are prefetched from and never read
// from: a block may have left since. They have four bytes, a line's number, of which the upper half
// is kept once, since all blocks of a cache lie within the same 256 GiB or nearly so.
class alignas(64) BlockDirectory {
 public:
  // Null for an index that it cannot stand for (no entries, over 4 GiB of data, or heads that are
  // out of order or not those of the separators), and without memory.
  static std::unique_ptr<BlockDirectory> Make(const IndexBlock& index);

  // How far a search is that has come to the line in which it ends.
  struct Place {
    uint64_t head;
    uint32_t line;
  };
  // Has the line fetched.
  Place FindLine(std::string_view user_key) const;
  // The rest of the search. The same entry as IndexBlock::Find under the bytewise order.
  uint32_t FindInLine(const Place& place, std::string_view user_key, uint64_t trailer) const;

  // As the index block's.
  uint32_t size() const { return num_entries_; }
  uint64_t first_offset() const { return first_offset_; }
  uint64_t end_offset() const { return first_offset_ + data_bytes_; }
  BlockHandle handle(uint32_t entry) const {
    const uint64_t start = StartOf(entry);
    const uint64_t end = entry + 1 < num_entries_ ? StartOf(entry + 1) : data_bytes_;
    return {first_offset_ + start, end - start - kBlockTrailerBytes};
  }
  std::string separator(uint32_t entry) const { return tails_.Separator(entry, HeadAt(entry)); }
  bool StraddlesWith(uint32_t entry, std::string_view user_key) const;
  uint64_t HeadAt(uint32_t entry) const {
    return lines_[entry / kLineEntries].heads[entry % kLineEntries];
  }
  uint64_t TrailerAt(uint32_t entry) const { return tails_.TrailerAt(entry); }
  // Of an entry whose head is that of `suffix`.
  int CompareSuffix(uint32_t entry, std::string_view suffix) const {
    return tails_.CompareSuffix(entry, suffix);
  }
  // handle(entry).offset, from the entry's own line.
  uint64_t OffsetOf(uint32_t entry) const { return first_offset_ + StartOf(entry); }

  // Has the block's keys fetched from where it was.
  void PrefetchBlock(uint32_t entry) const {
    const uint64_t hint = HintOf(entry).load(std::memory_order_relaxed);
    if (hint == 0) return;
    const uint64_t upper = upper_half_.load(std::memory_order_relaxed);
    DataBlock::PrefetchKeys(reinterpret_cast<const char*>(((upper << 32) | hint) * kLineBytes));
  }
  // Where the block is; true if the hint said otherwise. Writes only what is new, so that the line
  // of a block that stays is shared by all readers.
  bool Note(uint32_t entry, const char* contents) {
    const uint64_t line = reinterpret_cast<uintptr_t>(contents) / kLineBytes;
    std::atomic<uint32_t>& hint = HintOf(entry);
    if (hint.load(std::memory_order_relaxed) == static_cast<uint32_t>(line)) return false;
    hint.store(static_cast<uint32_t>(line), std::memory_order_relaxed);
    upper_half_.store(line >> 32, std::memory_order_relaxed);
    return true;
  }
  void Forget(uint32_t entry) {
    std::atomic<uint32_t>& hint = HintOf(entry);
    if (hint.load(std::memory_order_relaxed) != 0) hint.store(0, std::memory_order_relaxed);
  }

  size_t memory_bytes() const { return sizeof(*this) + memory_.size(); }

 private:
  static constexpr uint64_t kLineBytes = 64;
  static constexpr uint32_t kLineEntries = 4;
  static constexpr uint32_t kNodeKeys = 8;
  // Instead of a line: the key is before all entries, or behind all.
  static constexpr uint32_t kBefore = ~uint32_t{0};
  static constexpr uint32_t kBehind = kBefore - 1;
  // Trees of as many levels have lines for 2^32 entries.
  static constexpr size_t kMaxLevels = 11;

  struct alignas(kLineBytes) Line {
    std::array<uint64_t, kLineEntries> heads;  // behind the last entry: the greatest number
    std::array<uint32_t, kLineEntries> starts;
    std::array<std::atomic<uint32_t>, kLineEntries> hints;  // 0: none
  };
  struct alignas(kLineBytes) Node {
    std::array<uint64_t, kNodeKeys> last_heads;
  };

  BlockDirectory() = default;
  void Fill(const IndexBlock& index, uint32_t num_lines);

  uint64_t StartOf(uint32_t entry) const {
    return lines_[entry / kLineEntries].starts[entry % kLineEntries];
  }

  std::atomic<uint32_t>& HintOf(uint32_t entry) const {
    return lines_[entry / kLineEntries].hints[entry % kLineEntries];
  }

  // What every search reads, on two lines.
  SharedPrefix prefix_;  // tails_.shared_prefix()
  uint64_t last_head_ = 0;
  Line* lines_ = nullptr;
  uint32_t num_levels_ = 0;
  uint32_t num_entries_ = 0;
  uint64_t first_offset_ = 0;
  std::atomic<uint64_t> upper_half_{0};
  std::array<Node*, kMaxLevels> levels_{};  // the lowest first

  uint64_t data_bytes_ = 0;
  SeparatorTails tails_;
  filter::ResidentMemory memory_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_BLOCK_DIRECTORY_H_
