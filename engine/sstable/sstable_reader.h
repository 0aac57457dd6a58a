// Reads one SSTable (FORMAT.md).
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_READER_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/base/key_times.h"
#include "engine/base/range_tombstones.h"
#include "engine/base/signed_entry.h"
#include "engine/cache/block_cache.h"
#include "engine/file_system/read_ring.h"
#include "engine/sstable/block_directory.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/filter_block.h"
#include "engine/sstable/filter_description.h"
#include "engine/sstable/filter_file.h"
#include "engine/sstable/filter_ledger.h"
#include "engine/sstable/filter_units.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_block.h"
#include "engine/sstable/mapped_blocks.h"
#include "engine/sstable/range_filter_block.h"
#include "engine/sstable/scan_history.h"
#include "engine/sstable/sstable_problem.h"
#include "engine/sstable/sstable_properties.h"
#include "filter/base/slab_pool.h"
#include "winnow/file_system.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/resident_memory.h"
#include "winnow/filter_policy.h"

namespace winnow {

struct BlockPosition;

class KeyHashCursor;
class KeyHashLayout;
class SignatureCursor;
class SstableIterator;

struct SstableReaderOptions {
  InternalKeyComparator comparator{BytewiseComparator()};
  // Where blocks are kept; may be null (every read loads). Must outlive the reader.
  ShardedBlockCache* cache = nullptr;
  // SstableSummary::file_id as the manifest recorded it; 0 accepts any.
  uint64_t expected_file_id = 0;
  // What the manifest gives an ingested table: added to the sequence number of each entry.
  SequenceNumber global_sequence = 0;
  // Answers from the filters of tables that were written with a policy of its name; may be null.
  const FilterPolicy* filter_policy = nullptr;
  // False: the table is read as if it had no filter.
  bool load_filter = true;
  // Filter and index are kept in memory if the cache, which is then not null, has room for them
  // (TryAddCharge). Otherwise they are blocks of the cache, loaded when a look-up needs them; a
  // filter that is too large for that (MostForOneFilter) is not used.
  bool charge_cache = false;
  // What filters in memory take is counted there, and under a limit, whatever charge_cache says, no
  // more of them than it has room for are there. Null: in none, and filters are read whole. Must
  // outlive the reader.
  FilterLedger* filter_ledger = nullptr;
  // All of a filter may be dropped and loaded again, the first unit included, which is asked a
  // little later for that: with a ledger, also where it has no limit.
  bool filters_can_leave = false;
  // Data blocks that are stored plain are read where they lie, if the file can be mapped and they
  // are read as they are, without a global sequence number.
  bool map_file = false;
  // The table_id() of another reader of the same file, whose blocks in the cache are then those of
  // this one; 0: none.
  uint64_t table_id = 0;
};

struct SstableReadOptions {
  // Blocks found in the cache were checked when they were inserted. Without this check a block is
  // not inserted.
  bool verify_checksums = true;
  // Blocks that had to be loaded go into the cache.
  bool fill_cache = true;
  // Iterators only: 0 reads through the cache and, once several blocks were loaded one after the
  // other, ahead of itself. Otherwise the file is read in pieces of this size and the cache is left
  // alone: for compactions and scans of whole tables.
  size_t readahead_bytes = 0;
  // Added to by the calling thread; may be null.
  ReadCounters* counters = nullptr;
};

// How the key hashes of a table were made: as its own filter, which its filter file need not
// share.
struct KeyHashOrigin {
  uint64_t seed = 0;
  std::shared_ptr<const FilterDescription> description;
};

// What a table's filter says of a key.
enum class FilterAnswer : uint8_t {
  kNo,        // no entry of it is in the table
  kMaybe,     // one may be
  kNotAsked,  // there is no filter that could be asked
};

// The answer of a point look-up.
struct PointResult {
  PointResult() {}  // see DBImpl::Found: made for each look-up

  bool found = false;
  // Does the file hold any entry whose filter key, for look-ups, is that of the key looked up? If
  // not, a filter that said "may contain" was wrong. True whenever found.
  bool filter_key_present = false;
  // The rest is set only if found.
  EntryType type;
  SequenceNumber sequence;
  std::string_view value;  // lives as long as `pin`, or in `mapped`
  BlockRef pin;
  MappedBlocks* mapped = nullptr;  // not null: the value lies in it, and it in the table's reader
};

// A point look-up on its way through one table: see SstableReader::StartLookup. It stays where it
// is, and can be used again once it is done.
class PointLookup {
 public:
  PointLookup() = default;
  PointLookup(const PointLookup&) = delete;
  PointLookup& operator=(const PointLookup&) = delete;

  bool has_block() const { return has_block_; }
  // Where in the file the block is that was found; 0 if there is none.
  uint64_t block_offset() const { return has_block_ ? handle_.offset : 0; }

 private:
  friend class SstableReader;

  std::string_view user_key_;
  uint64_t trailer_ = 0;
  const IndexBlock* index_ = nullptr;  // without a directory, the level that points to data blocks
  IndexBlock loaded_index_;            // in index_pin_, where that level is not in memory
  BlockRef index_pin_;
  uint32_t top_entry_ = 0;  // of index_ in the top level
  uint32_t entry_ = 0;      // in index_
  BlockDirectory::Place place_{};
  // Of the one block that can hold the key; with a directory the size is only known once the block
  // has to be read.
  BlockHandle handle_;
  bool has_block_ = false;  // false: all keys of the table are smaller
  BlockRef block_;
  const char* mapped_ = nullptr;  // the block, where the file is mapped; block_ is empty then
  // Behind what FindFirst or FindNext found in the block: the next entry and its value. Null:
  // nothing was found, or not there.
  const char* next_entry_ = nullptr;
  const char* next_value_ = nullptr;
};

// A missing block that the caller reads by itself: see SstableReader::StartFetch.
struct BlockFetch {
  bool fills_cache = false;
  // The block as the file has it, once that is read. Released: the read has failed.
  BlockRef stored;
};

// A look-up of the beginning of a key: see SstableReader::FindFirst.
struct FirstLookup {
  std::string_view prefix;
  // So many bytes of it a filter was asked for; 0: none was.
  size_t filter_key_bytes = 0;
  // What FindIndexLine said of the prefix, or null.
  const BlockDirectory::Place* place = nullptr;
  // Null, or the `steps` of an earlier look-up in this table: of a neighbouring key, whose block
  // may be the same.
  const PointLookup* neighbour = nullptr;
  // Another one, which keeps the block until it is used again.
  PointLookup* steps = nullptr;
  // Out: whether the table has a key that begins with what the filter was asked for. If not, a
  // filter that said "may contain" was wrong.
  bool filter_key_present = false;
};

// A block as the file holds it, for tools.
struct SstableBlockInfo {
  using Kind = BlockKind;
  Kind kind = Kind::kData;
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;    // trailer included
  uint64_t contents_bytes = 0;  // after decompression
  Compression compression = Compression::kNone;
  uint64_t num_entries = 0;  // data and index blocks
  std::string first_key;     // data blocks: internal keys
  std::string last_key;
};

// A place in a table: how many bytes of it lie between the anchor before and this key, included.
struct SstableAnchor {
  std::string user_key;
  uint64_t bytes = 0;
};

// Immutable after Open; thread-safe. Index (its top level, for large tables) and filter are in
// memory, or in the cache (SstableReaderOptions::charge_cache). Errors: DataLoss "PATH: at offset
// N: REASON" for wrong bytes; the file's own error where reading fails.
class SstableReader : public filter::internal::InSlabPool {
 public:
  // Reads footer, properties, index and filter. `path` is for error messages. FailedPrecondition: a
  // newer format version, or another comparator than the table was written with. DataLoss: damage,
  // or a file that is not the expected one. A filter that is damaged, unknown or cannot be read is
  // no error: see filter_state(). With `filter_file`, which is of this table, its filter is the one
  // that is asked, and what figures() and filter_description() say of a filter is said of that one;
  // the table's own is not read.
  static absl::StatusOr<std::unique_ptr<SstableReader>> Open(
      const SstableReaderOptions& options, std::unique_ptr<RandomAccessFile> file, SharedPath path,
      std::unique_ptr<FilterFile> filter_file = nullptr);
  ~SstableReader();

  SstableReader(const SstableReader&) = delete;
  SstableReader& operator=(const SstableReader&) = delete;

  // The filter; answers "may contain" if there is none, if a policy made it, or if it is in the
  // cache. Query it with filter_key().LookupHash(user_key, hash_seed()).
  const filter::FilterReader& filter() const { return filter_; }
  // True if AskFilter can say no.
  bool has_filter() const {
    return !filter_.always_true() || filter_policy_ != nullptr || filter_in_cache_ ||
           units_ != nullptr;
  }
  // What the filter, whoever made it, says of `user_key`. `filter_hash` is what filter() is queried
  // with. Of `options`: a filter that is not in the cache is loaded if the cache is to be filled.
  FilterAnswer AskFilter(const SstableReadOptions& options, uint64_t filter_hash,
                         std::string_view user_key) const {
    if (!filter_.MayContain(filter_hash)) return FilterAnswer::kNo;
    if (!filter_.always_true() && units_ == nullptr) [[likely]]
      return FilterAnswer::kMaybe;
    if (!has_filter()) return FilterAnswer::kNotAsked;
    return AskFurther(options, filter_hash, user_key);
  }
  // Of the filter, wherever it is; kNone if a policy made it.
  filter::FilterKind filter_kind() const { return filter_kind_; }
  // True if AskFilter queries a policy.
  bool has_policy_filter() const { return filter_policy_ != nullptr; }
  // kOk also where the table was written without a filter.
  const filter::FilterState& filter_state() const {
    return filter_refusal_ == nullptr ? kFilterIsUsable : *filter_refusal_;
  }
  // Not OK: it was refused for an error of the file, or want of memory, which says nothing of its
  // bytes; another opening may find them sound. OK where these are damaged.
  const absl::Status& filter_read_status() const { return filter_read_status_; }
  // Null if the table has none, or none that is wanted. It knows of entries alone: range tombstones
  // are asked for beside it.
  const RangeFilterBlock* range_filter() const { return range_filter_.get(); }
  // How the table's filter was made, as the file records it.
  const FilterDescription& filter_description() const { return *filter_description_; }
  const filter::FilterKeyExtractor& filter_key() const { return filter_description_->key; }
  uint64_t hash_seed() const { return figures_.hash_seed; }

  // Finds the newest entry of `user_key` with a sequence number <= `snapshot`. Does not query the
  // filter. OK with !result->found if there is none. `*result` may hold an earlier answer. `place`
  // is what FindIndexLine said of the key, or null.
  absl::Status Get(const SstableReadOptions& options, std::string_view user_key,
                   SequenceNumber snapshot, PointResult* result,
                   const BlockDirectory::Place* place = nullptr) const;
  // The beginning of Get, for callers that do something else before: has what Get reads first
  // fetched. False: there is nothing to be had in advance.
  bool FindIndexLine(std::string_view user_key, BlockDirectory::Place* place) const {
    if (directory_ == nullptr) return false;
    *place = directory_->FindLine(user_key);
    return true;
  }

  // Finds the first entry whose user key begins with lookup->prefix, whatever its sequence number,
  // and shows it to `visit` if there is one; what that is given lives until it returns. Under the
  // bytewise order alone. Does not query the filter.
  struct FirstEntry {
    // The user key is the first `shared` bytes of the prefix and `rest` behind them.
    size_t shared = 0;
    std::string_view rest;
    uint64_t trailer = 0;
    std::string_view value;
  };
  absl::Status FindFirst(const SstableReadOptions& options, FirstLookup* lookup,
                         absl::FunctionRef<void(const FirstEntry&)> visit) const;
  // What a few entries behind the one that the last call with `steps` found say of a `prefix`
  // behind `last_key`, that one's user key: shows the first entry that begins with it (kFound), or
  // that the table has none (kAbsent). kUnknown: neither, within the block and few entries.
  enum class NextEntry : uint8_t { kUnknown, kFound, kAbsent };
  static NextEntry FindNext(std::string_view last_key, std::string_view prefix, PointLookup* steps,
                            absl::FunctionRef<void(const FirstEntry&)> visit);

  // The steps of Get, for callers with many keys. Each step has the next one's memory fetched,
  // which is worth it if the caller goes over all keys before the next step: the waits for one
  // key's memory then pass while the others are worked on. After an error a look-up goes no
  // further. `user_key` lives as long as the look-up.
  void StartLookup(std::string_view user_key, SequenceNumber snapshot, PointLookup* lookup,
                   const BlockDirectory::Place* place = nullptr) const;
  absl::Status FindBlock(const SstableReadOptions& options, PointLookup* lookup) const;
  void PrefetchBlockSlot(const PointLookup& lookup) const;
  // `neighbour` may be null, or a look-up in this table that has its block: if that is this one's
  // block too, it is not looked up again.
  absl::Status LoadBlock(const SstableReadOptions& options, const PointLookup* neighbour,
                         PointLookup* lookup) const;
  // LoadBlock in two steps. The first goes no further than memory; `*is_missing` is set where the
  // block is not there.
  absl::Status FindInMemory(const SstableReadOptions& options, const PointLookup* neighbour,
                            PointLookup* lookup, bool* is_missing) const;
  // The second, for a look-up whose block is missing: reads it, unless `fetch`, which may be null,
  // has it. `*waited`, if not null, says whether it came from further away than memory.
  absl::Status LoadFromFile(const SstableReadOptions& options, PointLookup* lookup,
                            BlockFetch* fetch, bool* waited) const;
  // Between the two: takes the neighbour's block, if it has this one's by now.
  static bool TakeFrom(const PointLookup* neighbour, PointLookup* lookup);
  // Between the two: says in `*read` where the missing block is, and where its bytes are to go, for
  // the caller to read it beside others. `descriptor` is the file's; see RandomAccessFile. False:
  // it is to be read by LoadFromFile.
  bool StartFetch(const SstableReadOptions& options, const PointLookup& lookup, int descriptor,
                  BlockFetch* fetch, RingRead* read) const;
  int Descriptor(std::shared_ptr<const void>* holder) const {
    return file_.file().Descriptor(holder);
  }
  // For look-ups that LoadFromFile will be called for: has the operating system fetch the block,
  // and does not wait for it.
  void PrefetchFromFile(const PointLookup& lookup) const;
  // Of a look-up that has its block, if there is one that can hold the key.
  absl::Status SearchBlock(const SstableReadOptions& options, PointLookup* lookup,
                           PointResult* result) const;

  // Over the whole table; the reader must outlive it. See sstable_iterator.h for the concrete type.
  std::unique_ptr<SstableIterator> NewIterator(const SstableReadOptions& options) const;

  // Whether the table has signatures of groups of its entries; SignatureCursor reads them.
  bool has_signatures() const { return figures_.signature_bytes != 0; }

  // Whether the table has the hashes of its filter keys; KeyHashCursor reads them.
  bool has_key_hashes() const { return key_hash_origin_ != nullptr; }
  // Null: it has none.
  const KeyHashOrigin* key_hash_origin() const { return key_hash_origin_.get(); }
  // Whether a filter of these keys and this seed can be made from them.
  bool HasKeyHashesFor(const filter::FilterKeyExtractor& key, uint64_t seed) const {
    return key_hash_origin_ != nullptr && key_hash_origin_->seed == seed &&
           key_hash_origin_->description->key_error.empty() &&
           key_hash_origin_->description->key == key;
  }
  KeyHashLayout key_hash_layout() const;

  // Where in the file the data of keys >= `internal_key` begins, roughly; 0 to data_bytes.
  uint64_t ApproximateOffsetOf(std::string_view internal_key) const;

  // Up to `most` anchors, in order, about evenly far from each other; the last one is at or behind
  // the last key. None if the index is not in memory and cannot be read.
  std::vector<SstableAnchor> Anchors(size_t most) const;

  // Reads the whole file and checks every byte: checksums, structure, key order, index separators,
  // each key against each unit of the filter, in memory or not, and of the filter file's, and
  // against the key hashes, counts against the properties. Empty if all is well. What is wrong with
  // the filter file itself is for FilterFile::Verify to say. With these parsers, the times of keys
  // and the signatures of entries too.
  std::vector<SstableProblem> Verify(KeyTimeParser key_time_parser = nullptr,
                                     SignedEntryParser signed_entry_parser = nullptr) const;

  // Calls `visit` with each block in file order; stops at the first error.
  absl::Status ForEachBlock(absl::FunctionRef<void(const SstableBlockInfo&)> visit) const;

  // The share of `probes` random hashes, none of them of a key of the table but by chance, that
  // the filter lets through.
  double SampleFalsePositiveRate(uint64_t probes, uint64_t seed) const;

  // Takes the table's blocks out of the cache: for a file that is being deleted.
  void EraseCachedBlocks() const;
  // The filter alone: for one that another reader of the table replaces.
  void EraseCachedFilter() const;

  // Null if the table has none. Neither Get nor iterators nor the filter know of them: who looks
  // for entries asks these too, whatever the filter says. It lives as long as the reader.
  const RangeTombstoneIndex* range_tombstones() const {
    return tombstones_ == nullptr ? nullptr : &tombstones_->index;
  }
  // Appends them as the file has them, in fragments; the bytes live as long as the reader.
  void AppendRangeTombstones(std::vector<RangeTombstone>* tombstones) const;

  const SstableFigures& figures() const { return figures_; }
  // All that the file says about itself, read anew. Errors as those of Open.
  absl::StatusOr<SstableProperties> ReadProperties() const;
  uint64_t file_id() const { return file_.file_id(); }
  uint64_t table_id() const { return table_id_; }
  uint64_t file_bytes() const { return file_.size(); }
  std::string path() const { return file_.path(); }
  const InternalKeyComparator& comparator() const { return options_.comparator; }
  // Memory held: filters, index, fixed part. Units of the filter come and go meanwhile.
  size_t memory_bytes() const {
    return bytes_besides_filters() + filter_memory_bytes() + range_filter_memory_bytes();
  }
  size_t bytes_besides_filters() const;
  // Of the file, if it is mapped; else 0.
  size_t mapped_bytes() const { return mapped_ == nullptr ? 0 : mapped_->bytes().size(); }
  size_t filter_memory_bytes() const {
    return filter_memory_.size() + (units_ == nullptr ? 0 : units_->resident_bytes());
  }
  // Not of the filter, and of no budget: the range filter beside it.
  size_t range_filter_memory_bytes() const {
    return range_filter_ == nullptr ? 0 : range_filter_->memory_bytes();
  }
  // The units of the filter in use, wherever it lies, which come and go; null: it is in memory, or
  // in the cache, as a whole, or there is none. Which it is was settled when the table was opened.
  FilterUnits* filter_units() const { return units_.get(); }
  // The filter's memory is that of a budget, and not charged to the cache.
  bool filter_has_budget() const { return filter_has_budget_; }
  // Of memory_bytes(): what is charged to the cache, for filters and index.
  size_t charged_bytes() const {
    return (charge_ ? wanted_bytes_ : 0) +
           (range_filter_ == nullptr ? 0 : range_filter_->charged_bytes());
  }
  // Of filter and index that are blocks of the cache: 0 if they are in memory.
  size_t bytes_through_cache() const { return is_resident_ ? 0 : wanted_bytes_; }
  // There is a filter, but it is not used: it is too large for the cache.
  bool filter_is_too_large() const { return filter_is_too_large_; }

 private:
  friend class IndexCursor;
  friend class KeyHashCursor;
  friend class SignatureCursor;
  friend class SstableIterator;
  friend class SstableVerifier;

  SstableReader(const SstableReaderOptions& options, std::unique_ptr<RandomAccessFile> file,
                SharedPath path);

  // The steps of Open, in this order.
  absl::Status ReadFooter();
  absl::Status TakeProperties(std::unique_ptr<FilterFile> filter_file);
  absl::Status TakeKeyHashes();
  void TakeFilterFile(std::unique_ptr<FilterFile> filter_file);
  void TakeFilterUnits(std::vector<filter::BuiltUnit> listed);
  void TakeRoom();
  absl::Status ReadIndex();
  absl::Status ReadRangeTombstones();
  void ReadFilter();
  void NoteFilterRead(const absl::Status& status);
  void ReadRangeFilter();
  void MapFile();

  bool filter_is_wanted() const;
  filter::FilterState ReadResidentFilter();
  filter::FilterState ReadFilterUnits();
  filter::FilterState ReadFilterIntoCache();
  // Where the filter in use lies: in the table, or in its filter file.
  BlockHandle filter_handle() const {
    return filter_file_ == nullptr ? footer_.filter : filter_file_->header().filter_block();
  }
  FilterBlockSource filter_source() const {
    return {filter_file_ == nullptr ? &file_ : &filter_file_->blocks(), filter_handle(),
            figures_.hash_seed, !filter_description_->policy.empty()};
  }
  // What neither the first unit nor the lack of a filter decides.
  FilterAnswer AskFurther(const SstableReadOptions& options, uint64_t filter_hash,
                          std::string_view user_key) const;
  // The cached filter's block, or none where it cannot be had.
  BlockRef FilterFromCache(const SstableReadOptions& options) const;
  // Without a directory: the index of one level, or else its top level: in memory, or in the block
  // that `*pin` holds.
  absl::StatusOr<IndexBlock> TopIndex(const SstableReadOptions& options, BlockRef* pin) const;
  // Calls `use` with that, or with the directory that stands for it. Neither is put into the cache.
  template <typename Use>
  absl::Status WithTopIndex(const Use& use) const {
    if (directory_ != nullptr) {
      use(*directory_);
      return absl::OkStatus();
    }
    SstableReadOptions options;
    options.fill_cache = false;
    BlockRef pin;
    absl::StatusOr<IndexBlock> index = TopIndex(options, &pin);
    if (index.ok()) use(*index);
    return index.status();
  }
  // Of the block that FindBlock has found.
  BlockHandle HandleOf(const PointLookup& lookup) const {
    return directory_ != nullptr ? directory_->handle(lookup.entry_)
                                 : lookup.index_->handle(lookup.entry_);
  }
  // Does the block before that one end with the user key?
  bool StraddlesBefore(const PointLookup& lookup) const;
  absl::StatusOr<bool> HasKeyBeside(const SstableReadOptions& options,
                                    const BlockPosition& position, const FirstLookup& lookup) const;
  // The lowest level of the index that leads to the first entry at or after the key, and which
  // partition that is.
  absl::Status FindLowestIndex(const SstableReadOptions& options, PointLookup* lookup) const;

  // Hardly a data block of the table is in the cache.
  bool reads_in_place() const {
    return mapped_ != nullptr && figures_.compression == Compression::kNone;
  }
  bool has_index_partitions() const { return footer_.index_levels == 2; }
  // Where partitions, or else the top index, start.
  uint64_t index_start() const {
    return footer_.filter.exists()
               ? footer_.filter.end()
               : figures_.data_bytes + figures_.signature_bytes + figures_.key_hash_bytes;
  }
  bool FillsCache(const SstableReadOptions& options) const {
    return options_.cache != nullptr && options.fill_cache && options.verify_checksums;
  }
  absl::StatusOr<BlockRef> LoadBlock(const BlockHandle& handle, BlockKind kind,
                                     const SstableReadOptions& options) const;
  // Of a data block in a mapped file: its contents there. Null: it has to be loaded.
  absl::StatusOr<const char*> FindMapped(const BlockHandle& handle,
                                         const SstableReadOptions& options) const {
    const char* const contents = mapped_->Find(handle);
    if (contents != nullptr) [[likely]]
      return contents;
    return CheckMapped(handle, options);
  }
  absl::StatusOr<const char*> CheckMapped(const BlockHandle& handle,
                                          const SstableReadOptions& options) const;
  // From the cache, or none.
  BlockRef LookUpBlock(const BlockHandle& handle, const SstableReadOptions& options) const;
  absl::StatusOr<BlockRef> LoadMissingBlock(const BlockHandle& handle, BlockKind kind,
                                            const SstableReadOptions& options,
                                            BlockFetch* fetch = nullptr) const;
  // Does an entry next to where `user_key` would stand have its filter key? Where look-ups do not
  // ask for whole keys: entries with one filter key are neighbours. Nothing: the block where the
  // search ended does not tell.
  std::optional<bool> HasFilterKeyBeside(const BlockPosition& position,
                                         std::string_view user_key) const;
  absl::StatusOr<bool> NeighbourHasFilterKey(const SstableReadOptions& options,
                                             std::string_view user_key, uint64_t trailer) const;

  static const filter::FilterState kFilterIsUsable;

  struct Tombstones {
    Tombstones(const InternalKeyComparator& comparator, BlockRef given,
               std::span<const RangeTombstone> tombstones)
        : block(std::move(given)), index(comparator, tombstones) {}
    const BlockRef block;  // has the keys
    const RangeTombstoneIndex index;
  };

  SstableReaderOptions options_;
  BlockFile file_;
  const uint64_t table_id_;   // in the block cache
  uint64_t filter_table_id_;  // of the filter there: a filter file's has an id of its own
  // Null: the table's own filter is in use, or the filter file's is in memory for good, and the
  // file not needed any more.
  std::unique_ptr<const FilterFile> filter_file_;
  Footer footer_;
  SstableFigures figures_;
  std::shared_ptr<const FilterDescription> filter_description_;
  std::unique_ptr<const KeyHashOrigin> key_hash_origin_;  // null: there are none
  std::unique_ptr<const Tombstones> tombstones_;          // null: there are none
  filter::ResidentMemory index_memory_;
  // Of data blocks, or of index partitions. Empty if it is in the cache, or where there is a
  // directory, which stands for one of data blocks.
  IndexBlock index_;
  std::unique_ptr<BlockDirectory> directory_;  // may be null
  MappedBlocks::Held mapped_;                  // null: the file is not mapped
  LedgerCharge filter_charge_;
  filter::ResidentMemory filter_memory_;
  std::unique_ptr<const ResidentUnit> first_unit_;  // may be null; else filter_ is its reader
  filter::FilterReader filter_;
  std::unique_ptr<FilterUnits> units_;
  std::unique_ptr<const filter::FilterState> filter_refusal_;  // null: nothing is wrong with it
  std::unique_ptr<const RangeFilterBlock> range_filter_;
  filter::FilterKind filter_kind_ = filter::FilterKind::kNone;
  CacheCharge charge_;
  size_t wanted_bytes_ = 0;  // for filter and index to be in memory
  const bool filter_has_budget_;
  bool is_resident_ = true;  // they are, or have no bytes
  bool index_in_cache_ = false;
  bool index_is_whole_ = false;  // index_, or the directory, is of data blocks
  bool filter_in_cache_ = false;
  mutable ScanHistory scan_history_;
  absl::Status filter_read_status_;
  bool filter_is_too_large_ = false;
  const FilterPolicy* filter_policy_ = nullptr;  // the one that made policy_filter_, if it is known
  std::string_view policy_filter_;               // in filter_memory_
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_READER_H_
