// The data blocks of a table whose file is mapped into memory, and which of them are known to be
// sound.
#ifndef WINNOW_ENGINE_SSTABLE_MAPPED_BLOCKS_H_
#define WINNOW_ENGINE_SSTABLE_MAPPED_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/sstable/data_block.h"
#include "engine/sstable/format.h"
#include "winnow/file_system.h"

namespace winnow {

// A block that is stored plain is checked when it is first read, and from then on read where it
// lies: a bit for each piece of the file says so. A piece is smaller than most blocks are, so that
// no two of those begin in the same one; a block that is smaller than a piece has no bit, and is
// checked whenever it is read.
//
// Thread-safe. Lives for as long as somebody holds it: the table's reader, and values that lie in
// the file.
class MappedBlocks {
 public:
  // For a table with this many data blocks, all of which lie below `data_end`. Null if there is no
  // memory. The first holder is the caller.
  static MappedBlocks* New(std::unique_ptr<FileMapping> mapping, uint64_t data_end,
                           uint64_t num_blocks);

  // The contents of a block that was found sound; null: of any other.
  const char* Find(const BlockHandle& handle) const {
    if (handle.size < piece_bytes()) [[unlikely]]
      return nullptr;
    const uint64_t piece = handle.offset >> piece_shift_;
    const uint64_t bits = sound_[piece / 64].load(std::memory_order_relaxed);
    return (bits >> (piece % 64) & 1) == 0 ? nullptr : bytes_.data() + handle.offset;
  }
  // Fetches what Find reads, and then a search.
  void Prefetch(const BlockHandle& handle) const {
    __builtin_prefetch(&sound_[(handle.offset >> piece_shift_) / 64]);
    DataBlock::PrefetchKeys(bytes_.data() + handle.offset);
  }
  // Relaxed, here and in Find: the block was there before, the bit publishes nothing but itself.
  void NoteSound(const BlockHandle& handle) {
    if (handle.size < piece_bytes()) return;
    const uint64_t piece = handle.offset >> piece_shift_;
    sound_[piece / 64].fetch_or(uint64_t{1} << (piece % 64), std::memory_order_relaxed);
  }

  std::string_view bytes() const { return bytes_; }
  void WillNeed(uint64_t offset, size_t length) const { mapping_->WillNeed(offset, length); }
  // Memory held; the file's bytes are the system's.
  size_t memory_bytes() const { return sizeof(*this) + num_words_ * sizeof(sound_[0]); }

  void Hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  // Acquire and release: what every holder read, it read before the file goes.
  void LetGo() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  struct LetsGo {
    void operator()(MappedBlocks* blocks) const { blocks->LetGo(); }
  };
  using Held = std::unique_ptr<MappedBlocks, LetsGo>;

 private:
  MappedBlocks(std::unique_ptr<FileMapping> mapping, uint64_t data_end, int piece_shift);
  ~MappedBlocks() = default;

  uint64_t piece_bytes() const { return uint64_t{1} << piece_shift_; }

  const std::unique_ptr<FileMapping> mapping_;
  const std::string_view bytes_;
  const int piece_shift_;
  const size_t num_words_;
  const std::unique_ptr<std::atomic<uint64_t>[]> sound_;
  std::atomic<uint64_t> holders_{1};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_MAPPED_BLOCKS_H_
