#include "engine/sstable/range_filter_block.h"

#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/sstable/filter_block.h"

namespace winnow {

// Room may be lacking, or memory, or the block may be unsound. The table opens all the same, and
// what is returned answers "may contain" and says which of them it was.
std::unique_ptr<const RangeFilterBlock> RangeFilterBlock::Load(const BlockFile& file,
                                                               const BlockHandle& handle,
                                                               ShardedBlockCache* cache) {
  std::unique_ptr<RangeFilterBlock> block(new (std::nothrow) RangeFilterBlock());
  if (block == nullptr) return nullptr;
  const size_t stored_bytes = handle.size + kBlockTrailerBytes;
  // Room is asked for before the read: a filter that has none costs no I/O.
  if (cache != nullptr) {
    block->charge_ = CacheCharge::Try(cache, stored_bytes);
    block->lacks_room_ = !block->charge_;
    if (block->lacks_room_) return block;
  }
  block->state_ = block->Read(file, handle);
  if (block->state_.code == filter::FilterStateCode::kOk) return block;
  block->state_.reason = absl::StrCat(file.path(), ": at offset ", handle.offset,
                                      ": range filter block: ", block->state_.reason);
  // A refused filter keeps neither its memory nor its room; what stays is the reason.
  block->reader_ = filter::RangeFilterReader();
  block->memory_ = filter::ResidentMemory();
  block->charge_ = CacheCharge();
  return block;
}

// It stays in memory as the file holds it, trailer included, and is read in place.
filter::FilterState RangeFilterBlock::Read(const BlockFile& file, const BlockHandle& handle) {
  using filter::FilterStateCode;
  const size_t stored_bytes = handle.size + kBlockTrailerBytes;
  memory_ = filter::ResidentMemory(stored_bytes);
  if (memory_.data() == nullptr) {
    lacks_memory_ = true;
    return {FilterStateCode::kDamaged, "no memory"};
  }
  absl::Status read_status;
  filter::FilterState state =
      ReadInPlace(file, handle, BlockKind::kRangeFilter, memory_.data(), &read_status);
  lacks_memory_ = absl::IsResourceExhausted(read_status);
  if (state.code != FilterStateCode::kOk) return state;
  reader_ = filter::RangeFilterReader::Open(std::string_view(memory_.data(), handle.size), &state);
  return state;
}

}  // namespace winnow
