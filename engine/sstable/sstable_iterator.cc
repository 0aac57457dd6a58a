#include "engine/sstable/sstable_iterator.h"

#include <algorithm>
#include <cstring>

#include "engine/base/large_buffer.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

// Automatic readahead starts with the load that follows this many, and doubles up to the limit.
// Two in a row are what a seek near a block's end does too; three are a scan. Where the last walks
// over the table went on to a third, it starts with the second.
constexpr uint32_t kLoadsBeforeReadahead = 2;
constexpr size_t kFirstReadaheadBytes = size_t{16} << 10;
constexpr size_t kLargestReadaheadBytes = size_t{256} << 10;

}  // namespace

SstableIterator::SstableIterator(const SstableReader& table, const SstableReadOptions& options)
    : table_(table),
      options_(options),
      index_(table, options),
      readahead_(table.file_, table.figures_.data_bytes, options.readahead_bytes > 0) {}

SstableIterator::~SstableIterator() { EndWalk(); }

// For compactions and whole scans: the cache is neither read nor filled, and blocks that are stored
// plain are used where they lie in the buffer. They live until the next block is loaded, which is
// as long as keys and values of an iterator must.
absl::Status SstableIterator::LoadFromReadahead(const BlockHandle& handle, Direction direction) {
  WINNOW_ASSIGN_OR_RETURN(
      const std::string_view stored,
      readahead_.Get(handle, BlockKind::kData, options_.readahead_bytes, direction));
  if (options_.counters != nullptr) {
    options_.counters->data_blocks_read.Increment();
    options_.counters->bytes_read.Add(stored.size());
  }
  BlockFile::ReadOptions read_options;
  read_options.verify_checksum = options_.verify_checksums;
  std::string_view contents;
  WINNOW_ASSIGN_OR_RETURN(
      block_, table_.file_.Unwrap(stored, handle, BlockKind::kData, read_options, &contents));
  // Of a large value that was decompressed the stored form, which is all that the buffer holds, has
  // served.
  if (block_ && stored.size() > std::max(kLargeBufferBytes, options_.readahead_bytes)) {
    readahead_.Release();
  }
  contents_ = contents.data();
  return absl::OkStatus();
}

// Automatic readahead: the piece doubles each time that the buffer has been used up, so that a scan
// of 100 blocks takes few reads, and a short one has read little too much. The block is copied
// since it goes into the cache, while the buffer is used again.
absl::StatusOr<BlockRef> SstableIterator::CopyFromReadahead(const BlockHandle& handle,
                                                            Direction direction,
                                                            BlockArena* arena) {
  if (!readahead_.Contains(handle)) {
    automatic_readahead_bytes_ =
        std::clamp(automatic_readahead_bytes_ * 2, kFirstReadaheadBytes, kLargestReadaheadBytes);
  }
  WINNOW_ASSIGN_OR_RETURN(
      const std::string_view stored,
      readahead_.Get(handle, BlockKind::kData, automatic_readahead_bytes_, direction));
  BlockFile::ReadOptions read_options;
  read_options.verify_checksum = options_.verify_checksums;
  read_options.counters = options_.counters;
  read_options.arena = arena;
  std::string_view contents;
  WINNOW_ASSIGN_OR_RETURN(BlockRef block, table_.file_.Unwrap(stored, handle, BlockKind::kData,
                                                              read_options, &contents));
  if (block) return block;
  block = CachedBlock::Allocate(contents.size(), arena);
  if (!block) {
    return absl::ResourceExhaustedError(absl::StrCat(table_.path(), ": no memory for a block"));
  }
  std::memcpy(block.mutable_block()->mutable_data(), contents.data(), contents.size());
  return block;
}

// The iterator that finds a scan under way brings its own loader. If another thread is loading the
// block already, the cache lets this one wait for it.
absl::StatusOr<BlockRef> SstableIterator::LoadMissingBlock(const BlockHandle& handle,
                                                           Direction direction) {
  if (!ReadsAhead()) {
    return table_.LoadMissingBlock(handle, BlockKind::kData, options_);
  }
  const BlockKey key{table_.table_id_, handle.offset};
  if (!table_.FillsCache(options_) || !table_.options_.cache->Admits(key)) {
    return CopyFromReadahead(handle, direction, nullptr);
  }
  ShardedBlockCache& cache = *table_.options_.cache;
  return cache.Load(
      key, [&] { return CopyFromReadahead(handle, direction, cache.arena()); },
      ShardedBlockCache::Priority::kProbation, options_.counters);
}

void SstableIterator::EndWalk() {
  if (sequential_loads_ + 1 == kLoadsBeforeReadahead) table_.scan_history_.Note(false);
  sequential_loads_ = 0;
  automatic_readahead_bytes_ = 0;
}

// Blocks lie without gaps, so that the next one starts where the last one ended (or ends where it
// began, backwards).
bool SstableIterator::NoteLoad(const BlockHandle& handle, Direction direction) {
  const bool is_sequential = direction == Direction::kForward ? handle.offset == last_load_end_
                                                              : handle.end() == last_load_offset_;
  if (!is_sequential) {
    EndWalk();
  } else if (++sequential_loads_ == kLoadsBeforeReadahead) {
    table_.scan_history_.Note(true);
  }
  last_load_offset_ = handle.offset;
  last_load_end_ = handle.end();
  return is_sequential;
}

bool SstableIterator::ReadsAhead() const {
  const uint32_t loads = sequential_loads_ + (table_.scan_history_.ExpectsToGoOn() ? 1 : 0);
  return sequential_loads_ > 0 && loads >= kLoadsBeforeReadahead;
}

// A mapping is read a page at a time where the disk is waited for; once a scan is under way the
// system is told of pieces as large as would be read ahead without one.
absl::StatusOr<bool> SstableIterator::LoadMapped(const BlockHandle& handle, Direction direction) {
  WINNOW_ASSIGN_OR_RETURN(const char* const contents, table_.FindMapped(handle, options_));
  if (contents == nullptr) return false;
  if (!NoteLoad(handle, direction)) needed_from_ = needed_until_ = 0;
  const bool is_needed = handle.offset >= needed_from_ && handle.end() <= needed_until_;
  if (ReadsAhead() && !is_needed) {
    automatic_readahead_bytes_ =
        std::clamp(automatic_readahead_bytes_ * 2, kFirstReadaheadBytes, kLargestReadaheadBytes);
    const uint64_t bytes = automatic_readahead_bytes_;
    const bool is_forward = direction == Direction::kForward;
    needed_from_ = is_forward ? handle.offset : handle.end() - std::min(handle.end(), bytes);
    needed_until_ = is_forward ? handle.offset + bytes : handle.end();
    table_.mapped_->WillNeed(needed_from_, needed_until_ - needed_from_);
  }
  block_.Release();
  contents_ = contents;
  return true;
}

// How long the block is, which is written elsewhere, is looked up only where it has to be read.
absl::Status SstableIterator::LoadThroughCache(Direction direction) {
  if (table_.mapped_ != nullptr) {
    WINNOW_ASSIGN_OR_RETURN(const bool is_loaded, LoadMapped(index_.handle(), direction));
    if (is_loaded) return absl::OkStatus();
  }
  ShardedBlockCache* const cache = table_.options_.cache;
  BlockRef block;
  if (cache != nullptr) {
    index_.PrefetchBlock();
    block = cache->Lookup({table_.table_id_, index_.offset()});
  }
  if (block) [[likely]] {
    index_.NoteBlock(block->data());
    if (options_.counters != nullptr) options_.counters->block_cache_hits.Increment();
    // A hit says that the scan runs over blocks that are in memory: reading ahead would read what
    // is there.
    EndWalk();
  } else {
    if (options_.counters != nullptr && cache != nullptr) {
      options_.counters->block_cache_misses.Increment();
    }
    index_.ForgetBlock();
    const BlockHandle handle = index_.handle();
    NoteLoad(handle, direction);
    WINNOW_ASSIGN_OR_RETURN(block, LoadMissingBlock(handle, direction));
  }
  block_ = std::move(block);
  contents_ = block_->data();
  return absl::OkStatus();
}

// Invariant on return: cursor_ is invalid. On true it is reset to the block under index_ and can be
// positioned; on false the iterator is at its end, or status_ says why it is not. At its end it
// holds no block and no buffer: of a merge over very many tables, most are there.
bool SstableIterator::LoadBlock(Direction direction) {
  cursor_.Clear();
  if (!index_.Valid()) {
    status_ = index_.status();
    contents_ = nullptr;
    block_ = BlockRef();
    readahead_.Release();
    return false;
  }
  // Seeks often end in the block that is there: without a cache it would be read again for each.
  if (contents_ == nullptr || index_.offset() != contents_offset_) {
    contents_ = nullptr;
    contents_offset_ = index_.offset();
    status_ = options_.readahead_bytes > 0 ? LoadFromReadahead(index_.handle(), direction)
                                           : LoadThroughCache(direction);
    if (!status_.ok()) return false;
  }
  status_ = absl::OkStatus();
  cursor_.Reset(contents_);
  return true;
}

void SstableIterator::SeekToFirst() {
  index_.SeekToFirst();
  if (LoadBlock(Direction::kForward)) cursor_.SeekToFirst();
}

void SstableIterator::SeekToLast() {
  index_.SeekToLast();
  if (LoadBlock(Direction::kBackward)) cursor_.SeekToLast();
}

// One block is loaded in nearly every case: the index names the block whose separator is at or
// after the key.
void SstableIterator::Seek(std::string_view internal_key) {
  index_.Seek(internal_key);
  if (!LoadBlock(Direction::kForward)) return;
  cursor_.Seek(table_.comparator(), internal_key);
  // The key lies between the block's last key and its separator.
  if (!cursor_.Valid()) EnterNextBlock();
}

// The first entry at or after the key, and a step back unless it is the key itself. If there is no
// such entry, the last one of the table is before the key; an error must not be mistaken for that.
void SstableIterator::SeekForPrev(std::string_view internal_key) {
  Seek(internal_key);
  if (Valid()) {
    if (table_.comparator().Compare(key(), internal_key) != 0) Prev();
  } else if (status_.ok()) {
    SeekToLast();
  }
}

void SstableIterator::EnterNextBlock() {
  index_.Next();
  if (LoadBlock(Direction::kForward)) cursor_.SeekToFirst();
}

void SstableIterator::EnterPreviousBlock() {
  index_.Prev();
  if (LoadBlock(Direction::kBackward)) cursor_.SeekToLast();
}

}  // namespace winnow
