#include "engine/sstable/sstable_reader.h"

#include <utility>

#include "engine/base/status.h"
#include "engine/base/steady_clock.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/index_cursor.h"
#include "engine/sstable/range_tombstone_block.h"
#include "engine/sstable/signature_cursor.h"
#include "engine/sstable/sstable_iterator.h"

namespace winnow {

namespace {

// A block that the operating system has in memory is there in a few microseconds; the fastest disks
// take fifty.
constexpr std::chrono::microseconds kLongerThanFromMemory{20};

// Larger blocks, of values that have one for themselves, are read one at a time: 32 of them would
// be a lot of memory, and a call is little beside their bytes.
constexpr uint64_t kLargestFetched = uint64_t{64} << 10;

}  // namespace

// Blocks whose checksum was not verified do not enter the cache: everything
// in the cache has been checked, once, for all who find it there. Indexes, partitions of them and
// filters are protected, since each serves hundreds of data blocks.
absl::StatusOr<BlockRef> SstableReader::LoadMissingBlock(const BlockHandle& handle, BlockKind kind,
                                                         const SstableReadOptions& options,
                                                         BlockFetch* fetch) const {
  BlockFile::ReadOptions read_options;
  read_options.verify_checksum = options.verify_checksums;
  read_options.counters = options.counters;
  read_options.data_end = figures_.data_bytes;
  if (mapped_ != nullptr) read_options.mapped = mapped_->bytes();
  const BlockKey key{table_id_, handle.offset};
  // An index partition serves hundreds of data blocks. Signatures are read one after the other, and
  // seldom again.
  const bool is_one_of_many = kind == BlockKind::kData || kind == BlockKind::kSignatures;
  const bool fills_cache =
      fetch != nullptr ? fetch->fills_cache
                       : FillsCache(options) && (!is_one_of_many || options_.cache->Admits(key));
  const auto load = [&] {
    if (fetch == nullptr || !fetch->stored) return file_.Read(handle, kind, read_options);
    return file_.FromStored(std::move(fetch->stored), handle, kind, read_options);
  };
  if (!fills_cache) return load();
  read_options.arena = options_.cache->arena();
  const auto priority = is_one_of_many ? ShardedBlockCache::Priority::kProbation
                                       : ShardedBlockCache::Priority::kProtected;
  return options_.cache->Load(key, load, priority, options.counters);
}

BlockRef SstableReader::LookUpBlock(const BlockHandle& handle,
                                    const SstableReadOptions& options) const {
  if (options_.cache == nullptr) return BlockRef();
  BlockRef block = options_.cache->Lookup({table_id_, handle.offset});
  if (options.counters == nullptr) return block;
  if (block) [[likely]] {
    options.counters->block_cache_hits.Increment();
  } else {
    options.counters->block_cache_misses.Increment();
  }
  return block;
}

absl::StatusOr<BlockRef> SstableReader::LoadBlock(const BlockHandle& handle, BlockKind kind,
                                                  const SstableReadOptions& options) const {
  BlockRef block = LookUpBlock(handle, options);
  if (block) [[likely]]
    return block;
  return LoadMissingBlock(handle, kind, options);
}

// The first read of a block, or a block that is compressed, which the cache may have. What type the
// block is of stands behind it: where damage makes it another one, the checks that loading it makes
// will tell.
absl::StatusOr<const char*> SstableReader::CheckMapped(const BlockHandle& handle,
                                                       const SstableReadOptions& options) const {
  const std::string_view file = mapped_->bytes();
  if (!handle.FitsBelow(file.size()) || handle.size > kMaxBlockContentsBytes) {
    return file_.Corruption(handle, BlockKind::kData, "handle out of bounds");
  }
  const std::string_view stored = file.substr(handle.offset, handle.size + kBlockTrailerBytes);
  if (stored[handle.size] != static_cast<char>(Compression::kNone)) return nullptr;
  BlockFile::ReadOptions read_options;
  read_options.verify_checksum = options.verify_checksums;
  read_options.counters = options.counters;
  std::string_view contents;
  WINNOW_ASSIGN_OR_RETURN(const BlockRef decompressed,
                          file_.Unwrap(stored, handle, BlockKind::kData, read_options, &contents));
  if (decompressed) return nullptr;  // somebody writes to the file
  if (options.verify_checksums) mapped_->NoteSound(handle);
  return contents.data();
}

// Where the cache is not to be filled a filter that is not there is not read: it is many times as
// large as the block that it might save. An error is no answer either; the look-up goes on to the
// data block, whose read says what is wrong.
BlockRef SstableReader::FilterFromCache(const SstableReadOptions& options) const {
  const BlockKey key{filter_table_id_, filter_handle().offset};
  BlockRef block = options_.cache->Lookup(key);
  if (block || !FillsCache(options)) return block;
  const auto load = [&] {
    return LoadFilterForCache(filter_source(), options_.cache->arena(), options.counters, nullptr);
  };
  absl::StatusOr<BlockRef> loaded =
      options_.cache->Load(key, load, ShardedBlockCache::Priority::kProtected, options.counters);
  return loaded.ok() ? *std::move(loaded) : BlockRef();
}

FilterAnswer SstableReader::AskFurther(const SstableReadOptions& options, uint64_t filter_hash,
                                       std::string_view user_key) const {
  const auto answer = [](bool may_contain) {
    return may_contain ? FilterAnswer::kMaybe : FilterAnswer::kNo;
  };
  // Which of the three it is was settled when the table was opened: units that come and go, a
  // policy's filter in memory, or a block of the cache, made by either.
  if (units_ != nullptr) {
    if (units_->num_resident() == 0) return FilterAnswer::kNotAsked;
    return answer(units_->MayContain(filter_hash));
  }
  if (!filter_in_cache_) return answer(filter_policy_->KeyMayMatch(user_key, policy_filter_));
  const BlockRef block = FilterFromCache(options);
  if (!block) return FilterAnswer::kNotAsked;
  const CachedFilter filter = FilterOf(*block);
  if (filter.contents.empty()) return FilterAnswer::kNotAsked;
  return answer(filter_policy_ == nullptr ? filter.reader.MayContain(filter_hash)
                                          : filter_policy_->KeyMayMatch(user_key, filter.contents));
}

absl::StatusOr<IndexBlock> SstableReader::TopIndex(const SstableReadOptions& options,
                                                   BlockRef* pin) const {
  if (!index_in_cache_) return index_;
  WINNOW_ASSIGN_OR_RETURN(*pin, LoadBlock(footer_.index, BlockKind::kIndex, options));
  return IndexBlock((*pin)->data());
}

absl::Status SstableReader::FindLowestIndex(const SstableReadOptions& options,
                                            PointLookup* lookup) const {
  // Empty until its block is there: behind the last partition a search in it finds nothing.
  lookup->index_ = &lookup->loaded_index_;
  lookup->loaded_index_ = IndexBlock();
  if (!has_index_partitions()) {
    WINNOW_ASSIGN_OR_RETURN(lookup->loaded_index_, TopIndex(options, &lookup->index_pin_));
    return absl::OkStatus();
  }
  lookup->top_entry_ = index_.Find(options_.comparator, lookup->user_key_, lookup->trailer_);
  if (lookup->top_entry_ == index_.size()) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(lookup->index_pin_, LoadBlock(index_.handle(lookup->top_entry_),
                                                        BlockKind::kIndexPartition, options));
  lookup->loaded_index_ = IndexBlock(lookup->index_pin_->data());
  return absl::OkStatus();
}

// A look-up:
//
// 1. With a partitioned index, the top level names the partition. It, or an index that is not kept
//    in memory, is a block of the cache.
// 2. The index names the one block that can hold the first entry at or after (user_key, snapshot).
// 3. In that block: the entry, if it has the user key. There is no need to go on to the next block:
//    if the position is behind the block's last entry, the separator proves that the next block
//    begins with a greater user key (or that the key straddles, and then the index leads to the
//    next block).
//
// If nothing is found, filter_key_present tells the caller whether the filter's "maybe" was right
// all the same: a version newer than the snapshot has the same filter key.
absl::Status SstableReader::Get(const SstableReadOptions& options, std::string_view user_key,
                                SequenceNumber snapshot, PointResult* result,
                                const BlockDirectory::Place* place) const {
  PointLookup lookup;
  StartLookup(user_key, snapshot, &lookup, place);
  WINNOW_RETURN_IF_ERROR(FindBlock(options, &lookup));
  WINNOW_RETURN_IF_ERROR(LoadBlock(options, nullptr, &lookup));
  return SearchBlock(options, &lookup, result);
}

void SstableReader::StartLookup(std::string_view user_key, SequenceNumber snapshot,
                                PointLookup* lookup, const BlockDirectory::Place* place) const {
  lookup->user_key_ = user_key;
  lookup->trailer_ = PackTrailer(snapshot, kEntryTypeForSeek);
  lookup->top_entry_ = 0;
  lookup->block_.Release();  // of an earlier look-up that ended in an error
  lookup->mapped_ = nullptr;
  lookup->index_ = &index_;
  if (directory_ != nullptr) {
    lookup->place_ = place != nullptr ? *place : directory_->FindLine(user_key);
  }
}

absl::Status SstableReader::FindBlock(const SstableReadOptions& options,
                                      PointLookup* lookup) const {
  if (directory_ != nullptr) [[likely]] {
    lookup->entry_ = directory_->FindInLine(lookup->place_, lookup->user_key_, lookup->trailer_);
    lookup->has_block_ = lookup->entry_ < directory_->size();
    if (!lookup->has_block_) return absl::OkStatus();
    if (mapped_ == nullptr) [[likely]] {
      directory_->PrefetchBlock(lookup->entry_);
      // All that the cache is asked by. The size, in other memory, is looked up where the block is
      // read.
      lookup->handle_.offset = directory_->OffsetOf(lookup->entry_);
      return absl::OkStatus();
    }
    lookup->handle_ = directory_->handle(lookup->entry_);
    if (reads_in_place()) mapped_->Prefetch(lookup->handle_);
    return absl::OkStatus();
  }
  if (!index_is_whole_) WINNOW_RETURN_IF_ERROR(FindLowestIndex(options, lookup));
  const IndexBlock& index = *lookup->index_;
  lookup->entry_ = index.Find(options_.comparator, lookup->user_key_, lookup->trailer_);
  lookup->has_block_ = lookup->entry_ < index.size();
  if (!lookup->has_block_) return absl::OkStatus();
  lookup->handle_ = index.handle(lookup->entry_);
  if (reads_in_place()) mapped_->Prefetch(lookup->handle_);
  return absl::OkStatus();
}

void SstableReader::PrefetchBlockSlot(const PointLookup& lookup) const {
  if (options_.cache == nullptr || !lookup.has_block_ || reads_in_place()) return;
  options_.cache->Prefetch({table_id_, lookup.handle_.offset});
}

absl::Status SstableReader::LoadBlock(const SstableReadOptions& options,
                                      const PointLookup* neighbour, PointLookup* lookup) const {
  bool is_missing = false;
  WINNOW_RETURN_IF_ERROR(FindInMemory(options, neighbour, lookup, &is_missing));
  if (!is_missing) [[likely]]
    return absl::OkStatus();
  return LoadFromFile(options, lookup, nullptr, nullptr);
}

absl::Status SstableReader::FindInMemory(const SstableReadOptions& options,
                                         const PointLookup* neighbour, PointLookup* lookup,
                                         bool* is_missing) const {
  if (!lookup->has_block_) return absl::OkStatus();
  if (TakeFrom(neighbour, lookup)) return absl::OkStatus();
  if (mapped_ != nullptr) {
    WINNOW_ASSIGN_OR_RETURN(lookup->mapped_, FindMapped(lookup->handle_, options));
    if (lookup->mapped_ != nullptr) return absl::OkStatus();
  }
  lookup->block_ = LookUpBlock(lookup->handle_, options);
  if (lookup->block_) [[likely]] {
    // Where the hint was right, the keys are on their way already.
    if (directory_ == nullptr || directory_->Note(lookup->entry_, lookup->block_->data())) {
      DataBlock::PrefetchKeys(lookup->block_->data());
    }
    return absl::OkStatus();
  }
  // Noted once it is found in the cache: of the blocks that pass through a cache that is small
  // beside the data, most are not.
  if (directory_ != nullptr) directory_->Forget(lookup->entry_);
  *is_missing = true;
  return absl::OkStatus();
}

bool SstableReader::TakeFrom(const PointLookup* neighbour, PointLookup* lookup) {
  if (neighbour == nullptr || !neighbour->block_ ||
      neighbour->handle_.offset != lookup->handle_.offset) {
    return false;
  }
  lookup->block_ = neighbour->block_.Share();
  return true;
}

absl::Status SstableReader::LoadFromFile(const SstableReadOptions& options, PointLookup* lookup,
                                         BlockFetch* fetch, bool* waited) const {
  lookup->handle_ = HandleOf(*lookup);
  const SteadyTime begin = waited == nullptr ? SteadyTime() : SteadyNow();
  WINNOW_ASSIGN_OR_RETURN(lookup->block_,
                          LoadMissingBlock(lookup->handle_, BlockKind::kData, options, fetch));
  if (waited != nullptr) *waited = SteadyNow() - begin >= kLongerThanFromMemory;
  DataBlock::PrefetchKeys(lookup->block_->data());
  return absl::OkStatus();
}

bool SstableReader::StartFetch(const SstableReadOptions& options, const PointLookup& lookup,
                               int descriptor, BlockFetch* fetch, RingRead* read) const {
  const BlockHandle handle = HandleOf(lookup);
  if (mapped_ != nullptr || descriptor < 0 || handle.size > kLargestFetched) return false;
  fetch->fills_cache = FillsCache(options) && options_.cache->Admits({table_id_, handle.offset});
  absl::StatusOr<BlockRef> stored = file_.RoomForStored(
      handle, BlockKind::kData, fetch->fills_cache ? options_.cache->arena() : nullptr);
  // For want of memory, or for what the index says: LoadFromFile meets the same, and says so.
  if (!stored.ok()) return false;
  fetch->stored = *std::move(stored);
  read->descriptor = descriptor;
  read->offset = handle.offset;
  read->length = static_cast<uint32_t>(fetch->stored->size());
  read->buffer = fetch->stored.mutable_block()->mutable_data();
  return true;
}

void SstableReader::PrefetchFromFile(const PointLookup& lookup) const {
  const BlockHandle handle = HandleOf(lookup);
  file_.file().Prefetch(handle.offset, handle.size + kBlockTrailerBytes);
}

absl::Status SstableReader::SearchBlock(const SstableReadOptions& options, PointLookup* lookup,
                                        PointResult* result) const {
  result->found = false;
  result->filter_key_present = false;
  const std::string_view user_key = lookup->user_key_;
  const uint64_t trailer = lookup->trailer_;
  // However this ends, the look-up then holds neither, and can be used again. Until it ends index_
  // may point into the one; the other goes to the result if the key is found.
  const BlockRef index_pin = std::move(lookup->index_pin_);
  BlockRef ref = std::move(lookup->block_);

  BlockPosition position;
  const char* const contents = ref ? ref->data() : lookup->mapped_;
  if (contents != nullptr) [[likely]] {
    const DataBlock block(contents);
    position = block.Seek(options_.comparator, user_key, trailer);
    if (position.user_key_equal) {
      const BlockEntry found = block.EntryAt(position.entry);
      result->found = true;
      result->filter_key_present = true;
      result->type = static_cast<EntryType>(found.trailer & 0xff);
      result->sequence = found.trailer >> 8;
      result->value = std::string_view(position.value, found.value_length);
      // The value is not copied: the pin, or the mapping, keeps its block where it is.
      result->mapped = ref ? nullptr : mapped_.get();
      result->pin = std::move(ref);
      return absl::OkStatus();
    }
  }

  if (!filter_key().lookup_part().is_whole_key()) {
    const std::optional<bool> known = HasFilterKeyBeside(position, user_key);
    if (known.has_value()) {
      result->filter_key_present = *known;
      return absl::OkStatus();
    }
    WINNOW_ASSIGN_OR_RETURN(result->filter_key_present,
                            NeighbourHasFilterKey(options, user_key, trailer));
    return absl::OkStatus();
  }
  // Newer versions of the key stand before the position: in this block, or the whole block before.
  // The search began at the last restart before its target: had there been an entry of the user key
  // before the position, in this block, it would have been seen. Where the position is the block's
  // first entry, the block before may end with the user key: separators tell, without a read.
  result->filter_key_present = position.user_key_before;
  if (position.entry != nullptr && position.index == 0) {
    result->filter_key_present = StraddlesBefore(*lookup);
  }
  return absl::OkStatus();
}

// Between partitions the top level tells.
bool SstableReader::StraddlesBefore(const PointLookup& lookup) const {
  if (lookup.entry_ == 0) {
    return lookup.top_entry_ > 0 && index_.StraddlesWith(lookup.top_entry_ - 1, lookup.user_key_);
  }
  return directory_ != nullptr ? directory_->StraddlesWith(lookup.entry_ - 1, lookup.user_key_)
                               : lookup.index_->StraddlesWith(lookup.entry_ - 1, lookup.user_key_);
}

// Keys of one filter key lie together, as the filter key is a prefix of the user key: if any
// exists, one is next to where `user_key` would stand, and has all of the filter key in common with
// it. A key that is its own filter key needs another look: what it is a prefix of may have a longer
// one.
std::optional<bool> SstableReader::HasFilterKeyBeside(const BlockPosition& position,
                                                      std::string_view user_key) const {
  const size_t wanted = filter_key().FilterKey(user_key).size();
  if (position.entry == nullptr || wanted == user_key.size()) return std::nullopt;
  if (std::max(position.common, position.common_before) >= wanted) return true;
  // Is there an entry on either side, or does another block have it?
  const bool has_both = position.index > 0 && position.has_entry;
  return has_both ? std::optional<bool>(false) : std::nullopt;
}

// The same by a search, for the first and the last entry of a block: it costs one more read.
absl::StatusOr<bool> SstableReader::NeighbourHasFilterKey(const SstableReadOptions& options,
                                                          std::string_view user_key,
                                                          uint64_t trailer) const {
  const std::string_view wanted = filter_key().FilterKey(user_key);
  const auto has_filter_key = [&](const SstableIterator& iterator) {
    return iterator.Valid() && filter_key().FilterKey(UserKey(iterator.key())) == wanted;
  };
  SstableIterator iterator(*this, options);
  iterator.Seek(MakeInternalKey(user_key, trailer >> 8, static_cast<EntryType>(trailer & 0xff)));
  if (has_filter_key(iterator)) return true;
  WINNOW_RETURN_IF_ERROR(iterator.status());
  if (iterator.Valid()) {
    iterator.Prev();
  } else {
    iterator.SeekToLast();
  }
  WINNOW_RETURN_IF_ERROR(iterator.status());
  return has_filter_key(iterator);
}

std::unique_ptr<SstableIterator> SstableReader::NewIterator(
    const SstableReadOptions& options) const {
  return std::make_unique<SstableIterator>(*this, options);
}

// As exact as the index: the start of the block that would hold the key.
uint64_t SstableReader::ApproximateOffsetOf(std::string_view internal_key) const {
  IndexCursor cursor(*this, SstableReadOptions{});
  cursor.Seek(internal_key);
  if (cursor.Valid()) return cursor.handle().offset;
  if (cursor.status().ok()) return figures_.data_bytes;
  if (index_in_cache_) return figures_.data_bytes / 2;  // cannot be read: anywhere
  // The partition cannot be read: as far into the data as it is into the top index.
  const uint32_t entry =
      index_.Find(options_.comparator, UserKey(internal_key), Trailer(internal_key));
  return figures_.data_bytes / index_.size() * entry;
}

// The index is walked without filling the cache. A partition that cannot be read leaves its blocks
// to age out.
void SstableReader::EraseCachedBlocks() const {
  if (options_.cache == nullptr) return;
  SstableReadOptions options;
  options.fill_cache = false;
  IndexCursor cursor(*this, options);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    options_.cache->Erase({table_id_, cursor.handle().offset});
  }
  EraseCachedFilter();
  if (has_signatures()) SignatureCursor(*this, options).EraseCachedBlocks();
  if (index_in_cache_) options_.cache->Erase({table_id_, footer_.index.offset});
  if (!has_index_partitions()) return;
  for (uint32_t i = 0; i < index_.size(); i++) {
    options_.cache->Erase({table_id_, index_.handle(i).offset});
  }
}

void SstableReader::EraseCachedFilter() const {
  if (filter_in_cache_) options_.cache->Erase({filter_table_id_, filter_handle().offset});
}

void SstableReader::AppendRangeTombstones(std::vector<RangeTombstone>* tombstones) const {
  if (tombstones_ == nullptr) return;
  // Was read before, without an error.
  (void)ReadRangeTombstoneBlock(tombstones_->block.contents(), options_.comparator, tombstones);
}

size_t SstableReader::bytes_besides_filters() const {
  const size_t directory = directory_ == nullptr ? 0 : directory_->memory_bytes();
  const size_t mapped = mapped_ == nullptr ? 0 : mapped_->memory_bytes();
  const size_t tombstones = tombstones_ == nullptr
                                ? 0
                                : footer_.range_tombstones.size + tombstones_->index.memory_bytes();
  const size_t units = units_ == nullptr ? 0 : units_->bytes_besides_units();
  return sizeof(*this) + directory + mapped + tombstones + units + index_memory_.size();
}

}  // namespace winnow
