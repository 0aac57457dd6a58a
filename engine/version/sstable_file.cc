#include "engine/version/sstable_file.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/filter_file.h"
#include "engine/version/file_names.h"
#include "engine/version/filter_counter_table.h"
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

absl::Status FilterError(const SstableReader& reader) {
  const absl::Status& read = reader.filter_read_status();
  return absl::Status(read.ok() ? absl::StatusCode::kDataLoss : read.code(),
                      reader.filter_state().reason);
}

absl::Status CheckFileSize(const RandomAccessFile& file, const SharedPath& path,
                           uint64_t expected_bytes) {
  if (file.size() == expected_bytes) return absl::OkStatus();
  return CorruptionError(
      path.ToString(),
      absl::StrCat("file has ", file.size(), " bytes, the manifest says ", expected_bytes));
}

// Errors are kept in the file, not returned: a database with one bad table opens, and reads that do
// not need that table go on.
std::shared_ptr<SstableFile> SstableFile::Open(const std::shared_ptr<const SstableStore>& store,
                                               FileMetadata metadata,
                                               const InternalKeyComparator& comparator,
                                               const FilterPolicy* filter_policy,
                                               const SstableFile* predecessor) {
  // From a pool: a database has as many of these as tables, all of one size.
  auto file = std::allocate_shared<SstableFile>(filter::internal::SlabAllocator<SstableFile>(),
                                                OnlyByOpen(), store, std::move(metadata));
  // The directory's text is shared by all tables, and kept alive with the store.
  const SharedPath path(std::shared_ptr<const std::string>(store, &store->directory),
                        SstableName(file->number()));
  auto opened = store->OpenFile(path, file->metadata_.file_id);
  if (!opened.ok()) {
    file->open_status_ = opened.status();
    return file;
  }
  // Checked before anything is read: a truncated copy is the usual damage, and the size names it
  // better than a checksum would.
  file->open_status_ = CheckFileSize(**opened, path, file->metadata_.file_bytes);
  if (!file->open_status_.ok()) return file;
  SstableReaderOptions options;
  options.comparator = comparator;
  options.cache = store->cache;
  options.filter_policy = filter_policy;
  // A table of that name and size that is not the one the manifest means is refused by it.
  options.expected_file_id = file->metadata_.file_id;
  options.global_sequence = file->metadata_.global_sequence;
  options.map_file = store->map_files;
  options.filter_ledger = store->filter_ledger.get();
  options.filters_can_leave = store->filters_can_leave;
  // Of a cache that holds nothing no room can be had.
  options.charge_cache = store->charge_readers && store->cache->capacity_bytes() > 0;
  // Blocks are cached under this identity: the same table, opened anew for its filter, finds them.
  if (predecessor != nullptr && predecessor->reader() != nullptr) {
    options.table_id = predecessor->reader()->table_id();
  }
  std::unique_ptr<FilterFile> filter_file = file->OpenFilterFile();
  const bool has_filter_file = filter_file != nullptr;
  auto reader = SstableReader::Open(options, *std::move(opened), path, std::move(filter_file));
  if (has_filter_file && reader.ok() &&
      (*reader)->filter_state().code != filter::FilterStateCode::kOk) {
    // Once more, with the table's own filter.
    file->GiveUpFilterFile(FilterError(**reader));
    // Closed before it is opened again: descriptors may be few.
    reader->reset();
    opened = store->OpenFile(path, file->metadata_.file_id);
    reader = opened.ok() ? SstableReader::Open(options, *std::move(opened), path) : opened.status();
  }
  if (!reader.ok()) {
    file->open_status_ = std::move(reader).status();
    return file;
  }
  file->reader_ = *std::move(reader);
  file->range_tombstones_ = file->reader_->range_tombstones();
  if (store->charge_readers) {
    // Filters that have a budget of their own take nothing of the cache's. Where a filter could not
    // be used, less is in memory than was charged for it.
    const SstableReader& of = *file->reader_;
    const size_t elsewhere =
        of.charged_bytes() + (of.filter_has_budget() ? of.filter_memory_bytes() : 0);
    const size_t held = file->memory_bytes();
    file->reader_charge_ = CacheCharge(store->cache, held - std::min(held, elsewhere));
  }
  // Beside the key range, which a look-up reads anyway.
  file->filter_key_identity_ = {file->reader_->hash_seed(),
                                file->reader_->filter_key().lookup_part()};
  file->filter_kind_index_ = file->reader_->has_policy_filter()
                                 ? kPolicyFilterKindIndex
                                 : static_cast<size_t>(file->reader_->filter_kind());
  file->lookup_slot_ =
      FilterSlot(file->filter_kind_index_, file->reader_->filter_key().lookup_part().category());
  return file;
}

// Whatever is wrong: a filter is an optimisation, and the table has one of its own.
std::unique_ptr<FilterFile> SstableFile::OpenFilterFile() {
  // GiveUpFilterFile may clear it: of what was named refused_filter_file_ keeps a copy.
  const FilterFileMetadata& named = metadata_.filter_file;
  if (named.number == 0) return nullptr;
  const SharedPath path(std::shared_ptr<const std::string>(store_, &store_->directory),
                        FilterName(named.number));
  // The identity is checked by FilterFile::Open, with the header.
  auto opened = store_->OpenFile(path, 0);
  if (!opened.ok()) {
    GiveUpFilterFile(opened.status());
    return nullptr;
  }
  if (absl::Status size = CheckFileSize(**opened, path, named.file_bytes); !size.ok()) {
    GiveUpFilterFile(std::move(size));
    return nullptr;
  }
  auto file = FilterFile::Open(*std::move(opened), path, named.file_id, metadata_.file_id);
  if (file.ok()) return *std::move(file);
  GiveUpFilterFile(std::move(file).status());
  return nullptr;
}

// What was only not to be had now, for an error of the disk or want of descriptors, say, stays
// named: the next opening tries again.
void SstableFile::GiveUpFilterFile(absl::Status why) {
  refused_filter_file_ = std::make_unique<const FilterFileMetadata>(metadata_.filter_file);
  if (absl::IsDataLoss(why) || absl::IsNotFound(why)) metadata_.filter_file = FilterFileMetadata();
  filter_file_status_ = std::move(why);
}

void SstableFile::RemoveFilterFile() const {
  if (metadata_.filter_file.number == 0) return;
  const std::string path = FilterFileName(store_->directory, metadata_.filter_file.number);
  store_->file_system->Remove(path).IgnoreError();
}

void SstableFile::MarkRefiltered(std::shared_ptr<SstableFile> successor) {
  // What has been learnt about the table is as true of it with another filter.
  successor->quarantined = quarantined;
  successor->deletions_stay = deletions_stay;
  successor->expired_keys_stay = expired_keys_stay;
  successor->NoteRefutable(refutable_lookups());
  successor->NoteUnaskedHits(unasked_hits());
  successor->NoteReadsInVain(reads_in_vain());
  if (garbage_met()) successor->NoteGarbage();
  successor_ = std::move(successor);
}

// Runs when the last version or iterator that holds the file lets go, on whatever thread that is.
// MarkObsolete happened before the edit's caller released its own reference, and reference counting
// orders the two, hence the relaxed load.
//
// Blocks leave the cache first: they could never be hit again, but would be counted as memory.
SstableFile::~SstableFile() {
  const bool is_obsolete = obsolete_.load(std::memory_order_relaxed);
  // In use when the database is closed, or a version that was never installed: the files stay.
  if (!is_obsolete && successor_ == nullptr) return;
  // A forked child may destroy its last iterator while the parent reads on.
  if (!process_.IsThisOne()) return;
  if (!is_obsolete) {
    // The table lives on in the successor, and so do its cached blocks; only the filter goes.
    if (reader_ != nullptr) reader_->EraseCachedFilter();
    reader_.reset();
    UnlessOutOfMemory([this] { RemoveFilterFile(); });
    return;
  }
  UnlessOutOfMemory([this] {
    if (reader_ != nullptr) reader_->EraseCachedBlocks();
  });
  reader_.reset();
  // A file that cannot be removed now is an orphan that the next open removes.
  UnlessOutOfMemory([this] {
    store_->file_system->Remove(SstableFileName(store_->directory, metadata_.number)).IgnoreError();
    RemoveFilterFile();
  });
}

size_t SstableFile::bytes_besides_filters() const {
  const size_t known = sizeof(*this) + metadata_.smallest.capacity() + metadata_.largest.capacity();
  return reader_ == nullptr ? known : known + kBytesElsewhere + reader_->bytes_besides_filters();
}

// For look-ups whose key was hashed for another identity; costs one hash.
uint64_t SstableFile::FilterHash(std::string_view user_key) const {
  return reader_->filter_key().LookupHash(user_key, reader_->hash_seed());
}

}  // namespace winnow
