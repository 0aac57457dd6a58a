// SSTables written outside of any database.
//
// What is in such a table has no sequence number yet: every entry is written with number 0, and the
// ingestion gives all of them one, in the manifest and not in the file (SetGlobalSequence). So a
// key may be there once only, as a value, a deletion or an operand.
#include "engine/db/sst_writer.h"

#include <ctime>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/entry_limits.h"
#include "engine/base/merge_context.h"
#include "engine/base/missing_merge_operator.h"
#include "engine/base/status.h"
#include "engine/column_family/column_family_state.h"
#include "engine/db/database_directory.h"
#include "engine/db/option_checks.h"
#include "engine/file_system/durable_files.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

class SstWriterImpl final : public SstWriter {
 public:
  SstWriterImpl(const SstableBuilderOptions& options,
                std::shared_ptr<const MergeOperator> merge_operator,
                std::unique_ptr<WritableFile> file, std::string path, FileSystem* file_system,
                const TimeToLive& ttl)
      : comparator_(options.comparator),
        merge_operator_(std::move(merge_operator)),
        path_(std::move(path)),
        file_system_(*file_system),
        ttl_(ttl),
        builder_(std::make_unique<SstableBuilder>(options, std::move(file), path_)) {}

  ~SstWriterImpl() override {
    // What the caller was not told of is nobody's.
    if (!is_finished_) Remove();
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return Add(key, EntryType::kPut, value);
  }
  absl::Status Merge(std::string_view key, std::string_view operand) override {
    return CatchOutOfMemory([&]() -> absl::Status {
      const absl::Status checked = CheckMergeOperand(*merge_operator_, operand);
      if (!checked.ok()) return WithContext(checked, path_);
      return Add(key, EntryType::kMerge, operand);
    });
  }
  absl::Status Delete(std::string_view key) override { return Add(key, EntryType::kDelete, ""); }

  absl::StatusOr<SstFileInfo> Finish() override {
    return CatchOutOfMemory([&]() -> absl::StatusOr<SstFileInfo> {
      WINNOW_RETURN_IF_ERROR(CheckOpen());
      // A table without entries has no key range, and could be given no place.
      if (builder_->num_entries() == 0) {
        Remove();
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": a table without entries is of no use"));
      }
      WINNOW_ASSIGN_OR_RETURN(SstableSummary summary, builder_->Finish());
      // The builder has synced the file. Its name is durable after this, before the caller counts
      // on it.
      WINNOW_RETURN_IF_ERROR(file_system_.SyncDirectory(ParentDirectory(path_)));
      SstFileInfo info;
      info.path = path_;
      info.file_bytes = summary.file_bytes;
      info.num_entries = summary.properties.num_entries;
      info.num_deletions = summary.properties.num_deletions;
      info.smallest_key = std::move(summary.properties.smallest_user_key);
      info.largest_key = std::move(summary.properties.largest_user_key);
      info.filter_kind = std::move(summary.filter_kind);
      // Only now is the file left to the caller: after any error before this the destructor removes
      // it.
      file_bytes_ = info.file_bytes;
      is_finished_ = true;
      return info;
    });
  }

  uint64_t file_bytes() const override {
    return is_finished_ || builder_ == nullptr ? file_bytes_ : builder_->file_bytes_estimate();
  }
  uint64_t num_entries() const override {
    return builder_ == nullptr ? 0 : builder_->num_entries();
  }

 private:
  absl::Status CheckOpen() const {
    if (!is_finished_ && builder_ != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(path_, ": the table is finished"));
  }

  // Checked here and not left to the builder, whose callers' keys are in order: it would be of no
  // more use, and would take a deletion behind a value of one key.
  absl::Status CheckEntry(std::string_view key, std::string_view value) const {
    WINNOW_RETURN_IF_ERROR(CheckOpen());
    const absl::Status checked = CheckEntryBytes(key.size(), value.size());
    if (!checked.ok()) return WithContext(checked, path_);
    if (builder_->num_entries() == 0 || comparator_.CompareUserKeys(last_key_, key) < 0) {
      return absl::OkStatus();
    }
    return WithContext(KeysNotAscending(key, last_key_), path_);
  }

  absl::Status Add(std::string_view key, EntryType type, std::string_view value) {
    return CatchOutOfMemory([&]() -> absl::Status {
      WINNOW_RETURN_IF_ERROR(CheckEntry(key, value));
      // Buffers of the writer's, so that warm ones take no memory for each entry.
      internal_key_.clear();
      if (type == EntryType::kPut && ttl_.is_on()) {
        // The time of this call and not of the ingestion, which may be long in coming.
        type = EntryType::kPutWithTime;
        timed_value_.assign(value);
        AppendWriteTime(&timed_value_, ttl_.clock->NowMicros());
        value = timed_value_;
      }
      AppendInternalKey(&internal_key_, key, 0, type);
      // Taken before: once the builder has the entry the call succeeds.
      last_key_.reserve(key.size());
      WINNOW_RETURN_IF_ERROR(builder_->Add(internal_key_, value));
      last_key_.assign(key);
      return absl::OkStatus();
    });
  }

  void Remove() {
    if (builder_ == nullptr) return;
    // Closes the file, which not every file system could remove while it is open.
    builder_.reset();
    UnlessOutOfMemory([this] { file_system_.Remove(path_).IgnoreError(); });
  }

  const InternalKeyComparator comparator_;
  const std::shared_ptr<const MergeOperator> merge_operator_;  // never null
  const std::string path_;
  FileSystem& file_system_;
  const TimeToLive ttl_;
  std::unique_ptr<SstableBuilder> builder_;  // null: the file was given up
  bool is_finished_ = false;
  uint64_t file_bytes_ = 0;
  std::string last_key_;
  std::string internal_key_;
  std::string timed_value_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SstWriter>> CreateSstWriter(
    SstableBuilderOptions builder, std::shared_ptr<const MergeOperator> merge_operator,
    const std::string& path, FileSystem* file_system, const TimeToLive& ttl) {
  WINNOW_RETURN_IF_ERROR(CheckNewFile(*file_system, path));
  auto writer = CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<SstWriter>> {
    WINNOW_ASSIGN_OR_RETURN(auto file, file_system->Create(path, {}));
    builder.is_external = true;
    builder.merge_operator_name = std::string(merge_operator->Name());
    builder.level = 0;
    builder.num_levels = 0;  // which level it will be on nobody knows
    builder.creation_time_seconds = static_cast<uint64_t>(std::time(nullptr));
    return std::make_unique<SstWriterImpl>(builder, std::move(merge_operator), std::move(file),
                                           path, file_system, ttl);
  });
  // Without a writer nobody else would remove the file, which may be there if Create failed.
  if (!writer.ok()) UnlessOutOfMemory([&] { file_system->Remove(path).IgnoreError(); });
  return writer;
}

absl::StatusOr<std::unique_ptr<SstWriter>> SstWriter::Create(const ColumnFamilyOptions& options,
                                                             const std::string& path,
                                                             FileSystem* file_system) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<SstWriter>> {
    WINNOW_RETURN_IF_ERROR(ValidateColumnFamilyOptions(options, ""));
    const bool can_filter = options.comparator->EqualKeysHaveEqualBytes();
    const std::string filter = !options.filter.empty()
                                   ? options.filter
                                   : std::string(can_filter ? kDefaultFilter : "none");
    const std::string filter_key =
        options.filter_key.empty() ? std::string(kDefaultFilterKey) : options.filter_key;
    SstableBuilderOptions builder;
    builder.comparator = InternalKeyComparator(options.comparator);
    WINNOW_ASSIGN_OR_RETURN(builder.filter_spec, filter::ParseFilterSpec(filter));
    WINNOW_ASSIGN_OR_RETURN(builder.filter_key, filter::FilterKeyExtractor::Parse(filter_key));
    builder.filter_policy = options.filter_policy;
    // No database's: its own, which no other table has.
    builder.hash_seed = RandomIdentity();
    builder.key_hashes_ratio = options.key_hashes_ratio;
    builder.block_bytes = options.block_bytes;
    builder.restart_interval = options.block_restart_interval;
    builder.compression = options.compression_per_level.empty()
                              ? options.compression
                              : options.compression_per_level.back();
    builder.zstd_level = options.zstd_level;
    std::shared_ptr<const MergeOperator> merge_operator = options.merge_operator;
    if (merge_operator == nullptr) merge_operator = MissingMergeOperator("");
    return CreateSstWriter(std::move(builder), std::move(merge_operator), path,
                           file_system == nullptr ? PosixFileSystem() : file_system,
                           {SystemClock(), options.ttl_seconds.value_or(0) * kMicrosPerSecond});
  });
}

}  // namespace winnow
