// One live SSTable: its metadata, its open reader, and its removal once nobody needs it.
#ifndef WINNOW_ENGINE_VERSION_SSTABLE_FILE_H_
#define WINNOW_ENGINE_VERSION_SSTABLE_FILE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "engine/base/capabilities.h"
#include "engine/base/owning_process.h"
#include "engine/file_system/shared_path.h"
#include "engine/sstable/open_file_cache.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/user_key_range.h"
#include "engine/version/version_edit.h"
#include "winnow/file_system.h"

namespace winnow {

// Where tables are, and what their readers share.
struct SstableStore {
  FileSystem* file_system = nullptr;
  std::string directory;
  ShardedBlockCache* cache = nullptr;
  OpenFileCache* open_files = nullptr;  // null: every table keeps its file open
  bool charge_readers = false;          // to the cache, which is then not null
  bool map_files = false;               // data blocks are read where they lie, if that can be had
  std::shared_ptr<FilterLedger> filter_ledger = nullptr;  // null: nothing is counted
  bool filters_can_leave = false;  // SstableReaderOptions has it; with a ledger

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(const SharedPath& path,
                                                             uint64_t file_id) const;
};

// SstableFile::filter_kind_index() of a file whose filter a user's policy made and answers from;
// the other values are those of filter::FilterKind.
inline constexpr size_t kPolicyFilterKindIndex = 7;

// What a key's hash for look-ups depends on: a look-up may query the filter of a file of equal
// identity with the hash that it has, whatever other parts of keys that filter knows.
struct FilterKeyIdentity {
  uint64_t hash_seed = 0;
  filter::FilterKeyExtractor::Part part;

  friend bool operator==(const FilterKeyIdentity&, const FilterKeyIdentity&) = default;
};

// DataLoss: the file is larger or smaller than the manifest says.
absl::Status CheckFileSize(const RandomAccessFile& file, const SharedPath& path,
                           uint64_t expected_bytes);

// Why the reader's filter was refused: DataLoss if its bytes are wrong, else the error for which
// they could not be had. To be asked only where it was.
absl::Status FilterError(const SstableReader& reader);

// Shared by all versions that contain the file. Immutable but for the flags below.
class SstableFile {
  struct OnlyByOpen {};

 public:
  SstableFile(OnlyByOpen tag, std::shared_ptr<const SstableStore> store, FileMetadata metadata);
  // Opens the reader. A file that cannot be opened is kept, with the reason: reads that need it
  // fail, all others go on. `filter_policy` may be null.
  // A filter file that is named and cannot be used is no error either: the table's own filter is
  // asked, and filter_file_status() says why. `predecessor`, which may be null, is the same table
  // with another filter file: blocks of it in the cache go on being used.
  static std::shared_ptr<SstableFile> Open(const std::shared_ptr<const SstableStore>& store,
                                           FileMetadata metadata,
                                           const InternalKeyComparator& comparator,
                                           const FilterPolicy* filter_policy = nullptr,
                                           const SstableFile* predecessor = nullptr);
  // Removes the file from disk if it was marked obsolete, and its filter file if that was replaced.
  ~SstableFile();

  const FileMetadata& metadata() const { return metadata_; }
  uint64_t number() const { return metadata_.number; }
  // Null if the file could not be opened.
  const SstableReader* reader() const { return reader_.get(); }
  const absl::Status& open_status() const { return open_status_; }
  // Of the filter file that the manifest named, OK if there was none; NotFound if it is missing.
  // One that is damaged or missing is in metadata() no more, so that the next manifest does not
  // name it. Other errors say nothing of the file, which stays there for a later opening.
  const absl::Status& filter_file_status() const { return filter_file_status_; }
  // The filter file that the manifest named, whether it could be used or not.
  const FilterFileMetadata& named_filter_file() const {
    return refused_filter_file_ == nullptr ? metadata_.filter_file : *refused_filter_file_;
  }

  // What entries and range tombstones cover.
  const UserKeyRange& range() const { return range_; }
  std::string_view smallest_user_key() const { return range_.smallest; }
  std::string_view largest_user_key() const { return range_.largest; }
  // No key that the file covers is the key or greater.
  bool EndsBefore(std::string_view user_key, const InternalKeyComparator& comparator) const {
    return winnow::EndsBefore(range_, user_key, comparator);
  }
  // Null if it has none, or could not be opened.
  const RangeTombstoneIndex* range_tombstones() const { return range_tombstones_; }
  // False: it has none, or could not be opened. The filter may be one that is not usable.
  bool has_range_filter() const { return reader_ != nullptr && reader_->range_filter() != nullptr; }
  uint64_t smallest_prefix() const { return smallest_prefix_; }
  uint64_t largest_prefix() const { return largest_prefix_; }
  const FilterKeyIdentity& filter_key_identity() const { return filter_key_identity_; }
  size_t filter_kind_index() const { return filter_kind_index_; }
  // FilterSlot of look-ups of single keys.
  size_t lookup_slot() const { return lookup_slot_; }

  // Of the reader, with its filters and index, and of what is known of the file.
  size_t memory_bytes() const {
    return bytes_besides_filters() +
           (reader_ == nullptr
                ? 0
                : reader_->filter_memory_bytes() + reader_->range_filter_memory_bytes());
  }
  size_t bytes_besides_filters() const;
  // Of memory_bytes(): what each open table takes, however small it is.
  static constexpr size_t FixedBytes() {
    return sizeof(SstableFile) + sizeof(SstableReader) + kBytesElsewhere;
  }

  // The hash of a key, for a look-up, under this file's filter key and seed.
  uint64_t FilterHash(std::string_view user_key) const;

  // Look-ups, or so, in which the filter was right or wrong to say that a key is not there: those
  // in which it can save a read. A thread tells of many at a time.
  void NoteRefutable(uint64_t lookups) const {
    refutable_lookups_.fetch_add(lookups, std::memory_order_relaxed);
  }
  uint64_t refutable_lookups() const { return refutable_lookups_.load(std::memory_order_relaxed); }
  // The same of those that found the key while the filter could not be asked; where it is asked,
  // the filters' statistics have them by level.
  void NoteUnaskedHits(uint64_t lookups) const {
    unasked_hits_.fetch_add(lookups, std::memory_order_relaxed);
  }
  uint64_t unasked_hits() const { return unasked_hits_.load(std::memory_order_relaxed); }

  // Blocks that look-ups are reckoned to have read since the table was opened for keys that it does
  // not hold, as far as its filters are watched (FilterBudget), and those in the last level that
  // the memory of its filter would have saved there. Noted by one thread at a time.
  void NoteReadsInVain(double reads) const {
    reads_in_vain_.store(reads_in_vain() + reads, std::memory_order_relaxed);
  }
  double reads_in_vain() const { return reads_in_vain_.load(std::memory_order_relaxed); }

  // Called once the edit that drops the file is durable.
  void MarkObsolete() { obsolete_.store(true, std::memory_order_relaxed); }

  // Called once the edit is durable that gives the table another filter file: the present one is
  // removed with this object. `successor`, the table with the new filter, lives as long at least,
  // so that the table itself is not removed while this object's readers have use for it.
  void MarkRefiltered(std::shared_ptr<SstableFile> successor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Iterators passed many deletions, or what they hide, in its key range: it is worth compacting
  // before its level is due.
  bool NoteGarbage() { return !garbage_met_.exchange(true, std::memory_order_relaxed); }  // first?
  bool garbage_met() const { return garbage_met_.load(std::memory_order_relaxed); }

  // Whether a compaction has the file among its inputs.
  bool being_compacted ABSL_GUARDED_BY(database_mutex) = false;
  int compacted_into ABSL_GUARDED_BY(database_mutex) = 0;  // the level, if it is
  // A compaction met damage in it: it stays as it is.
  bool quarantined ABSL_GUARDED_BY(database_mutex) = false;
  // A compaction that was to leave out its deletions has written them again.
  bool deletions_stay ABSL_GUARDED_BY(database_mutex) = false;
  // A compaction was made for keys that have expired, and some of them are still here.
  bool expired_keys_stay ABSL_GUARDED_BY(database_mutex) = false;

 private:
  // The file behind the reader, places in versions and among the open files, and what the allocator
  // adds to all of these: about as much as 10,000 open tables were measured to take besides.
  static constexpr size_t kBytesElsewhere = 384;

  // Null: the table has none, or none that can be used; filter_file_status_ then says why.
  std::unique_ptr<FilterFile> OpenFilterFile();
  void GiveUpFilterFile(absl::Status why);
  void RemoveFilterFile() const;

  const std::shared_ptr<const SstableStore> store_;
  FileMetadata metadata_;  // changed by Open alone
  std::unique_ptr<SstableReader> reader_;
  CacheCharge reader_charge_;
  absl::Status open_status_;
  absl::Status filter_file_status_;
  std::unique_ptr<const FilterFileMetadata> refused_filter_file_;
  std::shared_ptr<SstableFile> successor_;  // not null: MarkRefiltered was called
  const UserKeyRange range_;
  const RangeTombstoneIndex* range_tombstones_ = nullptr;
  const uint64_t smallest_prefix_;
  const uint64_t largest_prefix_;
  FilterKeyIdentity filter_key_identity_;
  size_t filter_kind_index_ = 0;
  size_t lookup_slot_ = 0;
  std::atomic<bool> obsolete_{false};
  std::atomic<bool> garbage_met_{false};
  mutable std::atomic<uint64_t> refutable_lookups_{0};
  mutable std::atomic<uint64_t> unasked_hits_{0};
  mutable std::atomic<double> reads_in_vain_{0};
  const OwningProcess process_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_SSTABLE_FILE_H_
