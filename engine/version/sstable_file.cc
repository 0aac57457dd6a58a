#include "engine/version/sstable_file.h"

#include <utility>

#include "engine/base/status.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/slab_pool.h"

namespace winnow {

absl::StatusOr<std::unique_ptr<RandomAccessFile>> SstableStore::OpenFile(const SharedPath& path,
                                                                         uint64_t file_id) const {
  return open_files == nullptr ? file_system->OpenRandomAccess(path.ToString())
                               : open_files->Open(file_system, path, file_id);
}

SstableFile::SstableFile(OnlyByOpen /*tag*/, std::shared_ptr<const SstableStore> store,
                         FileMetadata metadata)
    : store_(std::move(store)),
      metadata_(std::move(metadata)),
      range_(RangeBetween(metadata_.smallest, metadata_.largest)),
      smallest_prefix_(KeyPrefix64(range_.smallest)),
      largest_prefix_(KeyPrefix64(range_.largest)) {}

// Errors are kept in the file, not returned: a database with one bad table opens, and reads that do
// not need that table go on.
std::shared_ptr<SstableFile> SstableFile::Open(const std::shared_ptr<const SstableStore>& store,
                                               FileMetadata metadata,
                                               const InternalKeyComparator& comparator,
                                               const FilterPolicy* filter_policy) {
  auto file = std::allocate_shared<SstableFile>(filter::internal::SlabAllocator<SstableFile>(),
                                                OnlyByOpen(), store, std::move(metadata));
  const SharedPath path(std::shared_ptr<const std::string>(store, &store->directory),
                        SstableName(file->number()));
  auto opened = store->OpenFile(path, file->metadata_.file_id);
  if (!opened.ok()) {
    file->open_status_ = opened.status();
    return file;
  }
  // Checked before anything is read: a truncated copy is the usual damage, and the size names it
  // better than a checksum would.
  if ((*opened)->size() != file->metadata_.file_bytes) {
    file->open_status_ = CorruptionError(
        path.ToString(), absl::StrCat("file has ", (*opened)->size(), " bytes, the manifest says ",
                                      file->metadata_.file_bytes));
    return file;
  }
  SstableReaderOptions options;
  options.comparator = comparator;
  options.cache = store->cache;
  options.filter_policy = filter_policy;
  options.expected_file_id = file->metadata_.file_id;
  options.global_sequence = file->metadata_.global_sequence;
  options.map_file = store->map_files;
  // Of a cache that holds nothing no room can be had.
  options.charge_cache = store->charge_readers && store->cache->capacity_bytes() > 0;
  auto reader = SstableReader::Open(options, *std::move(opened), path);
  if (!reader.ok()) {
    file->open_status_ = std::move(reader).status();
    return file;
  }
  file->reader_ = *std::move(reader);
  file->range_tombstones_ = file->reader_->range_tombstones();
  if (store->charge_readers) {
    file->reader_charge_ =
        CacheCharge(store->cache, file->memory_bytes() - file->reader_->charged_bytes());
  }
  // Beside the key range, which a look-up reads anyway.
  file->filter_key_identity_ = {file->reader_->hash_seed(),
                                file->reader_->filter_key().lookup_part()};
  file->filter_kind_index_ = file->reader_->has_policy_filter()
                                 ? kPolicyFilterKindIndex
                                 : static_cast<size_t>(file->reader_->filter_kind());
  return file;
}

// Runs when the last version or iterator that holds the file lets go, on whatever thread that is.
// MarkObsolete happened before the edit's caller released its own reference, and reference counting
// orders the two, hence the relaxed load.
//
// Blocks leave the cache first: they could never be hit again, but would be counted as memory.
SstableFile::~SstableFile() {
  if (!obsolete_.load(std::memory_order_relaxed)) return;
  // A forked child may destroy its last iterator while the parent reads on.
  if (!process_.IsThisOne()) return;
  UnlessOutOfMemory([this] {
    if (reader_ != nullptr) reader_->EraseCachedBlocks();
  });
  reader_.reset();
  // A file that cannot be removed now is an orphan that the next open removes.
  UnlessOutOfMemory([this] {
    store_->file_system->Remove(SstableFileName(store_->directory, metadata_.number)).IgnoreError();
  });
}

size_t SstableFile::memory_bytes() const {
  const size_t known = sizeof(*this) + metadata_.smallest.capacity() + metadata_.largest.capacity();
  return reader_ == nullptr ? known : known + kBytesElsewhere + reader_->memory_bytes();
}

// For look-ups whose key was hashed for another identity; costs one hash.
uint64_t SstableFile::FilterHash(std::string_view user_key) const {
  return reader_->filter_key().LookupHash(user_key, reader_->hash_seed());
}

}  // namespace winnow
