#include "engine/compaction/filter_rebuild.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/shared_prefix.h"
#include "engine/base/status.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Between two looks at the flags and the rate limiter.
constexpr uint64_t kEntriesBetweenPauses = 1024;

// What is read of a table, and paid for.
class PacedReads {
 public:
  PacedReads(const FilterRebuildOptions& options, FilterRebuildResult* result)
      : options_(options), result_(result) {}

  SstableReadOptions ReadOptions() {
    SstableReadOptions read;
    // Each block is read once: it must not push out those that look-ups use.
    read.fill_cache = false;
    read.readahead_bytes = options_.readahead_bytes;
    read.counters = &counters_;
    return read;
  }
  absl::Status Pause() {
    WINNOW_RETURN_IF_ERROR(CheckNotCancelled(options_.paced.cancelled));
    if (options_.must_give_way != nullptr && options_.must_give_way()) {
      return absl::CancelledError("other work is more urgent");
    }
    // Paid after the fact, unlike writes: how much a step of the iterator will read is not known
    // before.
    result_->bytes_read = counters_.bytes_read.value();
    if (options_.paced.limiter != nullptr && result_->bytes_read > paid_) {
      result_->waited += options_.paced.limiter->Request(
          result_->bytes_read - paid_, options_.paced.priority, options_.paced.cancelled);
    }
    paid_ = result_->bytes_read;
    return absl::OkStatus();
  }

 private:
  const FilterRebuildOptions& options_;
  FilterRebuildResult* const result_;
  ReadCounters counters_;
  uint64_t paid_ = 0;  // bytes that the limiter knows of
};

// The same hashes as SstableBuilder gives the filter of a table that it writes: each part of each
// distinct user key once, deletions included.
class KeyScan {
 public:
  KeyScan(const FilterRebuildOptions& options, const SstableFile& table, PacedReads* reads,
          filter::FilterBuilder* builder)
      : options_(options), table_(table), reads_(*reads), builder_(builder) {}

  absl::Status Run() {
    SstableIterator iterator(*table_.reader(), reads_.ReadOptions());
    uint64_t entries = 0;
    std::string last_user_key;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
      if (entries % kEntriesBetweenPauses == 0) WINNOW_RETURN_IF_ERROR(reads_.Pause());
      const std::string_view user_key = UserKey(iterator.key());
      // By bytes, as the builder compares: under a comparator for which other bytes can be equal a
      // key may be added twice, but none is missed.
      if (entries == 0 || user_key != last_user_key) {
        Add(user_key, CommonPrefix(user_key, last_user_key));
        last_user_key.assign(user_key);
      }
      entries++;
    }
    WINNOW_RETURN_IF_ERROR(iterator.status());
    // The last pause pays for what was read since the one before it.
    if (entries == table_.metadata().num_entries) return reads_.Pause();
    return CorruptionError(table_.reader()->path(),
                           absl::StrCat("holds ", entries, " entries, the manifest says ",
                                        table_.metadata().num_entries));
  }

 private:
  void Add(std::string_view user_key, size_t shared) {
    filter::FilterKeyExtractor::Hashes hashes;
    // Parts of the key that lie within what it shares with the key before it have been added with
    // that one.
    const size_t count = options_.key.NewHashes(user_key, shared, options_.hash_seed, &hashes);
    for (size_t i = 0; i < count; i++) builder_->Add(hashes[i]);
  }

  const FilterRebuildOptions& options_;
  const SstableFile& table_;
  PacedReads& reads_;
  filter::FilterBuilder* const builder_;
};

// In the order in which the table's own filter was given them, so that a filter of the same spec
// becomes the same.
absl::Status AddKeyHashes(const SstableReader& table, PacedReads* reads,
                          filter::FilterBuilder* builder) {
  KeyHashCursor cursor(table, reads->ReadOptions());
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < cursor.num_blocks(); i++) {
    WINNOW_RETURN_IF_ERROR(reads->Pause());
    WINNOW_RETURN_IF_ERROR(cursor.Read(i, &hashes));
    for (const uint64_t hash : hashes) builder->Add(hash);
  }
  return reads->Pause();
}

absl::StatusOr<std::unique_ptr<filter::FilterBuilder>> NewBuilder(
    const FilterRebuildOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(auto builder, filter::FilterBuilder::Create(
                                            options.spec, options.hash_seed, {}, options.context));
  builder->set_unit_bits(options.unit_bits);
  return builder;
}

// A builder that was given the hashes of all keys of the table.
absl::StatusOr<std::unique_ptr<filter::FilterBuilder>> CollectHashes(
    const FilterRebuildOptions& options, const SstableFile& table, FilterRebuildResult* result) {
  WINNOW_ASSIGN_OR_RETURN(auto builder, NewBuilder(options));
  // Without a filter there is nothing to read keys for.
  if (options.spec.kind == filter::FilterKind::kNone) return builder;
  PacedReads reads(options, result);
  if (table.reader()->HasKeyHashesFor(options.key, options.hash_seed)) {
    const absl::Status added = AddKeyHashes(*table.reader(), &reads, builder.get());
    if (added.ok()) return builder;
    if (absl::IsCancelled(added) || absl::IsResourceExhausted(added)) return added;
    // The keys themselves say the same at a higher price.
    result->key_hashes_status = added;
    builder.reset();
    WINNOW_ASSIGN_OR_RETURN(builder, NewBuilder(options));
  }
  WINNOW_RETURN_IF_ERROR(KeyScan(options, table, &reads, builder.get()).Run());
  return builder;
}

absl::Status Write(const FilterRebuildOptions& options, const SstableStore& store,
                   const SstableFile& table, const filter::BuiltFilter& built,
                   const std::string& path, FilterRebuildResult* result) {
  FilterFileHeader header;
  header.table_id = table.metadata().file_id;
  header.filter_spec = PointFilterText(filter::ToString(options.spec));
  header.filter_key = options.key.ToString();
  header.hash_seed = options.hash_seed;
  if (!options.unit_bits.empty()) header.units = built.units;
  WINNOW_ASSIGN_OR_RETURN(auto file, store.file_system->Create(path, {}));
  if (options.paced.limiter != nullptr) {
    file = NewPacedFile(std::move(file), options.paced, &result->waited);
  }
  WINNOW_RETURN_IF_ERROR(WriteFilterFile(built, &header, file.get()));
  // Drawn and filled in by WriteFilterFile.
  result->file.file_id = header.file_id;
  result->file.file_bytes = header.file_bytes;
  result->bytes_written = header.file_bytes;
  result->filter_bytes = built.block.size();
  result->fell_back = built.fell_back;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FilterRebuildResult> RebuildFilter(const FilterRebuildOptions& options,
                                                  const SstableStore& store,
                                                  const SstableFile& table, uint64_t number) {
  if (table.reader() == nullptr) return table.open_status();
  FilterRebuildResult result;
  result.file.number = number;
  WINNOW_ASSIGN_OR_RETURN(const auto builder, CollectHashes(options, table, &result));
  const filter::BuiltFilter built = builder->Finish();
  const std::string path = FilterFileName(store.directory, number);
  // Before this there is no file, and an error has nothing to remove.
  const absl::Status written =
      CatchOutOfMemory([&] { return Write(options, store, table, built, path, &result); });
  if (written.ok()) return result;
  store.file_system->Remove(path).IgnoreError();
  return written;
}

}  // namespace winnow
