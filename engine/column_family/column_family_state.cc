// The state of one column family, and how readers come to see it change.
//
// A key can be in the active memtable, in the immutable ones, and in the tables of the present
// version. Readers never look at these members but at a ReadView, a copy of all of them that was
// made under the mutex. So a change of a member is one thing, and a view with it another: a
// function here installs the view itself, or says that its caller does.
#include "engine/column_family/column_family_state.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <vector>

#include "engine/base/merge_context.h"
#include "engine/base/missing_merge_operator.h"
#include "engine/base/status.h"
#include "engine/filter_memory/unit_split.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

ColumnFamilyState::ColumnFamilyState(const FamilyRecord& record, ColumnFamilyOptions options,
                                     uint64_t hash_seed, std::shared_ptr<WriteBufferBudget> budget)
    : name_(record.name),
      id_(record.id),
      options_(std::make_shared<const ColumnFamilyOptions>(std::move(options))),
      write_buffer_bytes_(options_->write_buffer_bytes),
      filter_policy_(options_->filter_policy),
      compaction_filter_(options_->compaction_filter),
      allows_ingest_behind_(options_->allow_ingest_behind),
      comparator_(record.comparator),
      hash_seed_(hash_seed),
      // Never null, so that nobody who meets an operand has to ask. The stand-in refuses to merge,
      // with the recorded name in its error.
      merge_operator_(options_->merge_operator != nullptr
                          ? options_->merge_operator
                          : MissingMergeOperator(record.merge_operator_name)),
      budget_(std::move(budget)),
      version_(record.version) {}

absl::StatusOr<ColumnFamilyState::FilterSettings> ColumnFamilyState::ParseFilter(
    std::string_view filter, std::string_view filter_key) const {
  FilterSettings settings;
  WINNOW_ASSIGN_OR_RETURN(settings.spec, filter::ParseFilterSpec(filter));
  WINNOW_ASSIGN_OR_RETURN(settings.key, filter::FilterKeyExtractor::Parse(filter_key));
  WINNOW_RETURN_IF_ERROR(CheckFilterFitsComparator(filter, filter_key, *comparator_.user()));
  return settings;
}

absl::Status ColumnFamilyState::ReservedError() const {
  return absl::InvalidArgumentError(absl::StrCat(
      "column family '", name_,
      "' belongs to the tables of the database, through which alone it changes (`winnow table`)"));
}

// Tables that are there keep the filters that they have. Look-ups hash by the new key from the next
// view on, and for tables of other settings once more.
void ColumnFamilyState::SetFilter(FilterSettings settings) {
  filter_spec_ = std::move(settings.spec);
  filter_key_ = settings.key;
}

std::shared_ptr<Memtable> ColumnFamilyState::NewMemtable() const {
  // Under a comparator that does not promise equal bytes for equal keys no filter may be asked.
  const bool filtered = comparator_.user()->EqualKeysHaveEqualBytes();
  const double filter_bytes =
      filtered ? options_->memtable_filter_ratio * static_cast<double>(options_->write_buffer_bytes)
               : 0;
  MemtableSizes sizes;
  sizes.buffer_bytes = options_->write_buffer_bytes;
  sizes.filter_bytes = static_cast<size_t>(filter_bytes);
  // A busy family's memtable fills again: the filter of the next one is sized for as much.
  sizes.previous_bytes = active_ == nullptr ? 0 : active_->memory_bytes();
  return std::make_shared<Memtable>(comparator_, sizes, budget_,
                                    MemtableFilterKey{filter_key_, hash_seed_});
}

// Whatever takes memory comes first, up to the view. Readers that did not see the new memtable
// would not find what is written to it from now on.
void ColumnFamilyState::SwitchMemtable() {
  std::shared_ptr<Memtable> fresh = NewMemtable();
  // For the push_back below, which comes when nothing may fail any more.
  immutables.reserve(immutables.size() + 1);
  ViewHolder::Held reserved = ReserveView();
  ReadView& view = *reserved.front();
  FillView(version_, &view);
  // FillView goes by the members, in which it is still the active one: the newest of the
  // immutables.
  if (active_ != nullptr) view.immutables.insert(view.immutables.begin(), active_);
  view.active = fresh;
  views.Install(std::move(reserved));
  view_is_stale_ = false;
  // At the back, as the newest: a flush takes from the front, so that level 0 grows in the order of
  // the writes.
  if (active_ != nullptr) {
    active_->EnterStage(WriteBufferBudget::Stage::kWaiting);
    immutables.push_back(active_);
  }
  active_ = std::move(fresh);
}

// Not for a memtable whose entries are nowhere else: it is not kept for a flush. Used for replayed
// ones.
void ColumnFamilyState::ReplaceActiveMemtable() {
  std::shared_ptr<Memtable> fresh = NewMemtable();
  active_->EnterStage(WriteBufferBudget::Stage::kFlushed);
  active_ = std::move(fresh);
}

SequenceNumber ColumnFamilyState::FirstUnflushed() const {
  SequenceNumber first = active_->smallest_sequence();
  for (const auto& memtable : immutables) first = std::min(first, memtable->smallest_sequence());
  return first;
}

// From the front: the leader may have added others behind meanwhile.
void ColumnFamilyState::ReleaseImmutables(size_t count) {
  const auto end = immutables.begin() + static_cast<ptrdiff_t>(count);
  released_.insert(released_.end(), immutables.begin(), end);
  immutables.erase(immutables.begin(), end);
}

void ColumnFamilyState::FinishRelease() {
  for (const std::weak_ptr<Memtable>& released : released_) {
    if (const std::shared_ptr<Memtable> memtable = released.lock(); memtable != nullptr) {
      memtable->EnterStage(WriteBufferBudget::Stage::kFlushed);
    }
  }
  // And not clear(), which would keep the memory of the longest list for as long as the family
  // lives.
  std::vector<std::weak_ptr<Memtable>>().swap(released_);
}

namespace {

// What all dropped families share. Nothing is ever added to it.
struct Nothing {
  Nothing() {
    view->active =
        std::make_shared<Memtable>(view->comparator, MemtableSizes(), /*budget=*/nullptr);
    view->version =
        std::make_shared<const Version>(view->comparator, std::array<Version::Files, kNumLevels>());
  }
  const std::shared_ptr<ReadView> view = std::make_shared<ReadView>();
  const std::shared_ptr<const ColumnFamilyOptions> options =
      std::make_shared<const ColumnFamilyOptions>();
};

}  // namespace

// A handle stays for as long as its database, and with it whatever the state holds.
void ColumnFamilyState::InstallNothing() {
  // First, since it may run out of memory: then nothing of the family has changed.
  static const Nothing& nothing = *new Nothing;
  std::vector<std::shared_ptr<Memtable>>().swap(immutables);
  // The memory itself goes with the last view, which an iterator may hold for long. No flush will
  // give it back, so that no writer may wait for it.
  active_->EnterStage(WriteBufferBudget::Stage::kFlushed);
  active_ = nothing.view->active;
  version_ = nothing.view->version;
  options_ = nothing.options;
  picker = CompactionPicker();
  expected_fpr_history = ExpectedFprHistory();
  planned_filter_bits_ = nullptr;
  SetSignedFields({});
  view_is_stale_ = !UnlessOutOfMemory([&] { views.Install(ViewHolder::Held(1, nothing.view)); });
}

// A whole new view for every change, however small: readers take memtables and version together, so
// that a key is never looked for after it has left the memtable and before it is in a file.
void ColumnFamilyState::InstallView(std::shared_ptr<const Version> version) {
  InstallDurableView(std::move(version), ReserveView());
}

void ColumnFamilyState::InstallDurableView(std::shared_ptr<const Version> version) {
  // Whether or not there is memory for a view: the version is durable, and what is picked, written
  // and installed from now on is based on it.
  version_ = std::move(version);
  view_is_stale_ = !UnlessOutOfMemory(
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { InstallView(version_); });
}

void ColumnFamilyState::InstallDurableView(std::shared_ptr<const Version> version,
                                           ViewHolder::Held reserved) {
  FillView(version, reserved.front().get());
  // A stale view that RenewStaleView was to replace is replaced by this one.
  version_ = std::move(version);
  views.Install(std::move(reserved));
  view_is_stale_ = false;
}

ViewHolder::Held ColumnFamilyState::ReserveView() const {
  ViewHolder::Held reserved(1, std::make_shared<ReadView>());
  reserved.front()->immutables.reserve(immutables.size());
  return reserved;
}

void ColumnFamilyState::FillView(std::shared_ptr<const Version> version, ReadView* view) const {
  view->comparator = comparator_;
  view->active = active_;
  // Reversed: a look-up goes from new to old and ends at the first hit.
  view->immutables.assign(immutables.rbegin(), immutables.rend());
  view->version = std::move(version);
  view->extractor = filter_key_;
  view->hash_seed = hash_seed_;
  view->merge_operator = merge_operator_.get();
}

Compression ColumnFamilyState::CompressionFor(int level) const {
  const auto& levels = options_->compression_per_level;
  // The last entry of the list counts for all deeper levels too.
  if (levels.empty()) return options_->compression;
  return levels[std::min(static_cast<size_t>(level), levels.size() - 1)];
}

absl::Status ColumnFamilyState::CheckOperand(std::string_view operand) const {
  // Asked by the leader of the write queue at the latest: an operand that no reader could merge
  // must not get into the log.
  const absl::Status status = CheckMergeOperand(*merge_operator_, operand);
  if (status.ok()) [[likely]]
    return status;
  return IsMissingMergeOperator(*merge_operator_) ? WithContext(status, name_) : status;
}

SstableBuilderOptions ColumnFamilyState::BuilderOptions(int level) const {
  SstableBuilderOptions builder;
  builder.comparator = comparator_;
  builder.filter_spec = filter_spec_;
  // Under a budget the plan takes the place of the amount in the spec, and the filter is cut into
  // units that can be in memory or not. A policy of the user's makes filters of its own size, of
  // which nothing can be planned.
  if (planned_filter_bits_ != nullptr && filter_spec_.kind != filter::FilterKind::kNone &&
      filter_policy_ == nullptr) {
    builder.filter_spec.bits_per_key = 0;
    builder.filter_spec.fpr = 0;
    builder.filter_unit_bits =
        SplitIntoUnits(filter_spec_, (*planned_filter_bits_)[static_cast<size_t>(level)]);
  }
  builder.filter_key = filter_key_;
  builder.hash_seed = hash_seed_;
  builder.filter_policy = filter_policy_;
  builder.key_hashes_ratio = options_->key_hashes_ratio;
  builder.block_bytes = options_->block_bytes;
  builder.restart_interval = options_->block_restart_interval;
  builder.compression = CompressionFor(level);
  builder.zstd_level = options_->zstd_level;
  builder.key_time_parser = key_time_parser();
  builder.signed_entry_parser = signed_entry_parser();
  builder.signed_fields = signed_fields();
  builder.merge_operator_name = std::string(merge_operator_->Name());
  builder.ttl_seconds = ttl().micros / kMicrosPerSecond;
  builder.column_family_name = name_;
  builder.column_family_id = id_;
  builder.level = static_cast<uint32_t>(level);
  builder.num_levels =
      static_cast<uint32_t>(std::max(options_->compaction.num_levels(), level + 1));
  builder.creation_time_seconds = static_cast<uint64_t>(std::time(nullptr));
  return builder;
}

// What is at stake is a wrong "no": a filter hashes bytes, so that two keys that compare as equal
// but differ in bytes would miss each other. Prefixes need more: only where the order is that of
// the bytes do keys with one prefix lie together, which scans over a range rely on.
absl::Status CheckFilterFitsComparator(std::string_view filter, std::string_view filter_key,
                                       const Comparator& comparator) {
  WINNOW_ASSIGN_OR_RETURN(const filter::FilterSpec spec, filter::ParseFilterSpec(filter));
  WINNOW_ASSIGN_OR_RETURN(const filter::FilterKeyExtractor extractor,
                          filter::FilterKeyExtractor::Parse(filter_key));
  // A range filter works on numbers made of the first bytes of keys, which are in the order of the
  // keys under the bytewise comparator alone.
  if (spec.range_bits != 0 && &comparator != BytewiseComparator()) {
    return absl::InvalidArgumentError(absl::StrCat("filter: the range filter of '", ToAbsl(filter),
                                                   "' needs the bytewise comparator, not '",
                                                   ToAbsl(comparator.Name()), "'"));
  }
  if (spec.kind == filter::FilterKind::kNone) return absl::OkStatus();
  if (!comparator.EqualKeysHaveEqualBytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter: '", ToAbsl(filter), "' needs a comparator whose equal keys have equal bytes; '",
        ToAbsl(comparator.Name()),
        "' does not promise that (EqualKeysHaveEqualBytes): use 'none'"));
  }
  if (!extractor.is_whole_key() && &comparator != BytewiseComparator()) {
    return absl::InvalidArgumentError(absl::StrCat("filter_key: '", ToAbsl(filter_key),
                                                   "' needs the bytewise comparator, not '",
                                                   ToAbsl(comparator.Name()), "'"));
  }
  return absl::OkStatus();
}

}  // namespace winnow
