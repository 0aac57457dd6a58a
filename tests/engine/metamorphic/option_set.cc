#include "tests/engine/metamorphic/option_set.h"

#include <set>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/support/db_model.h"
#include "winnow/compaction_filter.h"
#include "winnow/filter/spec.h"
#include "winnow/filter_policy.h"
#include "winnow/merge_operator.h"

namespace winnow::metamorphic {

namespace {

// One byte for each key, so that it has false positives and would lose keys if the wrong ones were
// handed to it.
class ByteListPolicy final : public FilterPolicy {
 public:
  std::string_view Name() const override { return "test.byte-list"; }
  void CreateFilter(std::span<const std::string_view> keys, std::string* filter) const override {
    for (const std::string_view key : keys) filter->push_back(ByteOf(key));
  }
  bool KeyMayMatch(std::string_view key, std::string_view filter) const override {
    return filter.find(ByteOf(key)) != std::string_view::npos;
  }

 private:
  static char ByteOf(std::string_view key) {
    return static_cast<char>(std::hash<std::string_view>()(key) & 0xff);
  }
};

const ByteListPolicy kByteListPolicy;

// As append:+, under its name. It combines some operands before there is a value, and not others.
class SometimesCombining final : public MergeOperator {
 public:
  std::string_view Name() const override { return append_->Name(); }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    return append_->FullMerge(key, existing, operands, result);
  }
  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    return operands.size() % 2 == 0 && append_->PartialMerge(key, operands, result);
  }

 private:
  const std::shared_ptr<const MergeOperator> append_ = *ParseMergeOperator("append:+");
};

// Writes some values again as they are, which must change nothing, whatever snapshots there are.
class SameValues final : public CompactionFilter {
 public:
  Decision Filter(const Entry& entry, std::string* new_value) const override {
    if (std::hash<std::string_view>()(entry.key) % 2 == 0) return Decision::kKeep;
    new_value->assign(entry.value);
    return Decision::kChangeValue;
  }
};

const SameValues kSameValues;

}  // namespace

OptionSet::OptionSet(uint64_t seed) : seed_(seed) {
  std::mt19937_64 random(seed);
  on_disk_ = random() % 4 == 0;
  own_filters_ = random() % 5 == 0;
  constexpr uint64_t kBudgets[] = {0, 0, 1 << 10, 2 << 10, 1 << 20};
  filter_memory_budget_ = kBudgets[random() % 5];
}

std::mt19937_64 OptionSet::RandomFor(uint64_t operation_number) const {
  std::seed_seq mixed{static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32),
                      static_cast<uint32_t>(operation_number)};
  return std::mt19937_64(mixed);
}

// A budget decides the amount, but for that of a range filter.
std::string OptionSet::FittingFilter(const std::string& filter) const {
  if (filter_memory_budget_ == 0) return filter;
  filter::FilterSpec spec = *filter::ParseFilterSpec(filter);
  spec.bits_per_key = 0;
  spec.fpr = 0;
  return filter::ToString(spec);
}

ColumnFamilyOptions OptionSet::ForFamily(uint64_t operation_number) const {
  std::mt19937_64 random = RandomFor(operation_number);
  ColumnFamilyOptions options;
  ChooseFamilyOptions(random, &options);
  options.filter = FittingFilter(options.filter);
  if (own_filters_ && random() % 4 != 0) options.filter_policy = &kByteListPolicy;
  if (random() % 4 == 0) {
    options.compression_per_level = {Compression::kNone, Compression::kLz4, Compression::kZstd};
  }
  options.zstd_level = static_cast<int>(1 + random() % 5);
  options.disable_auto_compactions = random() % 6 == 0;
  if (random() % 3 == 0) options.filter.clear();  // as recorded
  if (random() % 3 == 0) options.filter_key.clear();
  options.allow_ingest_behind = random() % 4 == 0;
  options.merge_operator = std::make_shared<SometimesCombining>();
  if (random() % 2 == 0) options.merge_operator = *ParseMergeOperator("append:+");
  if (random() % 3 == 0) options.compaction_filter = &kSameValues;
  return options;
}

Options OptionSet::ForOpening(uint64_t operation_number) const {
  std::mt19937_64 random = RandomFor(operation_number);
  Options options;
  static_cast<ColumnFamilyOptions&>(options) = ForFamily(operation_number);
  constexpr size_t kCacheBytes[] = {0, 64 << 10, 1 << 20, 32 << 20};
  options.block_cache_bytes = kCacheBytes[random() % 4];
  options.background_threads = static_cast<int>(1 + random() % 3);
  options.max_log_bytes = random() % 2 == 0 ? uint64_t{1} << 20 : uint64_t{1} << 30;
  options.verify_compaction_checksums = random() % 2 == 0;
  options.recovery_mode = random() % 2 == 0 ? RecoveryMode::kStrict : RecoveryMode::kPointInTime;
  options.max_open_files = random() % 2 == 0 ? 0 : 16;
  options.charge_filters_to_cache = random() % 2 == 0;
  options.filter_memory_budget = filter_memory_budget_;
  options.db_write_buffer_bytes = random() % 2 == 0 ? 0 : size_t{1} << 20;
  options.compaction_readahead_bytes = random() % 2 == 0 ? size_t{64} << 10 : size_t{16} << 20;
  options.mmap_reads = random() % 2 == 0;
  options.io_uring_reads = random() % 4 != 0;
  options.background_bytes_per_second = random() % 4 == 0 ? uint64_t{1} << 20 : 0;
  constexpr size_t kRowCacheBytes[] = {0, 64 << 10, 8 << 20};
  options.row_cache_bytes = kRowCacheBytes[random() % 3];
  options.row_cache_ttl_seconds = random() % 2 == 0 ? 0 : 1;
  options.optimize_filters_for_hits = random() % 3 == 0;
  return options;
}

ReadOptions OptionSet::ForReading(uint64_t operation_number) const {
  std::mt19937_64 random = RandomFor(operation_number);
  ReadOptions options;
  options.fill_cache = random() % 2 == 0;
  options.verify_checksums = random() % 2 == 0;
  return options;
}

WriteOptions OptionSet::ForWriting(uint64_t operation_number) const {
  std::mt19937_64 random = RandomFor(operation_number);
  WriteOptions options;
  options.sync = random() % 50 == 0;
  // Close flushes what no log holds, so that it survives every reopening here.
  options.disable_wal = !options.sync && random() % 20 == 0;
  return options;
}

OptionSet::Filter OptionSet::ForSetFilter(uint64_t operation_number) const {
  std::mt19937_64 random = RandomFor(operation_number);
  ColumnFamilyOptions options;
  ChooseFamilyOptions(random, &options);
  return {FittingFilter(options.filter), options.filter_key};
}

std::vector<std::pair<std::string, std::string>> OptionSet::ForSetOptions(
    uint64_t operation_number) const {
  const Options options = ForOpening(operation_number);
  std::vector<std::pair<std::string, std::string>> texts;
  for (const OptionDescription& option : DescribeOptions()) {
    if (option.change != OptionChange::kWhileOpen || option.name == "ttl_seconds") continue;
    texts.emplace_back(option.name, *OptionText(options, option.name));
  }
  return texts;
}

OptionSet::Ingestion OptionSet::ForIngest(uint64_t operation_number) const {
  std::mt19937_64 random = RandomFor(operation_number);
  Ingestion ingestion;
  ingestion.as_batch = random() % 3 == 0;
  ingestion.by_database = random() % 2 == 0;
  ingestion.options.move = random() % 2 == 0;
  ingestion.options.verify = random() % 2 == 0;
  constexpr size_t kKeysEach[] = {0, 0, 1, 3};
  ingestion.keys_each = kKeysEach[random() % 4];
  return ingestion;
}

OptionSet::Together OptionSet::ForTransact(uint64_t operation_number) const {
  return static_cast<Together>(RandomFor(operation_number)() % 4);
}

bool OptionSet::OpensCheckpointReadOnly(uint64_t operation_number) const {
  return RandomFor(operation_number)() % 2 == 0;
}

std::string OptionSet::ToString() const {
  const Options options = ForOpening(0);
  return absl::StrCat(
      on_disk_ ? "on disk" : "in memory", ", filter ",
      options.filter_policy != nullptr ? "of the user's own"
                                       : (options.filter.empty() ? "default" : options.filter),
      ", filter_key ", options.filter_key.empty() ? "default" : options.filter_key,
      ", compression ", std::string(CompressionName(options.compression)), ", block_bytes ",
      options.block_bytes, ", write_buffer_bytes ", options.write_buffer_bytes,
      ", block_cache_bytes ", options.block_cache_bytes, ", filter_memory_budget ",
      options.filter_memory_budget, ", level0_compaction_trigger ",
      options.level0_compaction_trigger, ", compaction ", options.compaction.ToString(),
      ", background_threads ", options.background_threads,
      options.disable_auto_compactions ? ", no automatic compactions" : "");
}

}  // namespace winnow::metamorphic
