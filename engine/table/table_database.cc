// Opening and closing.
//
// An opening goes in this order: the store, in which each column family that may be a table's has a
// compaction filter that keeps everything; the catalog; the clock, from the bounds that the catalog
// has; what a crash has left of changes of schemas, which is dropped; the tables. Only with its
// table does a filter learn rules and clock, so that nothing is dropped by a clock that is not yet
// known.
#include "engine/table/table_database.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <utility>

#include "engine/base/status.h"
#include "engine/db/option_checks.h"
#include "engine/db/recorded_options.h"
#include "engine/file_system/file_system_of.h"
#include "filter/base/out_of_memory.h"
#include "winnow/clock.h"
#include "winnow/merge_operator.h"

namespace winnow {

absl::StatusOr<std::unique_ptr<TableDatabase>> TableDatabase::Open(
    const Options& options, const std::string& path, const TableOptions& table_options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<TableDatabase>> {
    if (options.read_only) {
      return absl::InvalidArgumentError("tables are not opened read_only");
    }
    const size_t cell_bytes = table_options.max_cell_bytes;
    if (cell_bytes < 1 || cell_bytes > kMaxTableCellBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "max_cell_bytes is ", cell_bytes, ", and must be from 1 to ", kMaxTableCellBytes));
    }
    auto database = std::make_unique<TableDatabaseImpl>(options, table_options);
    WINNOW_RETURN_IF_ERROR(database->OpenDatabase(path));
    return std::unique_ptr<TableDatabase>(std::move(database));
  });
}

namespace {

bool HasTableName(std::string_view column_family) {
  return column_family.find(':') != std::string_view::npos;
}

}  // namespace

TableDatabaseImpl::~TableDatabaseImpl() { Close().IgnoreError(); }

CellCollectors& TableDatabaseImpl::CollectorsOf(const std::string& column_family) {
  // Kept until the end, since the column family points to it, also one that was dropped. A new one
  // of the same name has the same object.
  const MutexLock lock(&collectors_mutex_);
  std::unique_ptr<CellCollectors>& collectors = collectors_[column_family];
  if (collectors == nullptr) collectors = std::make_unique<CellCollectors>();
  return *collectors;
}

// What the user says of this column family, or else what is inherited, but for what would change
// the meaning of cells. What is recorded with the column family stays.
ColumnFamilyOptions TableDatabaseImpl::OptionsFor(const std::string& column_family) {
  const auto named = options_.column_families.find(column_family);
  const bool is_named = named != options_.column_families.end();
  ColumnFamilyOptions options = is_named ? named->second : options_;
  if (!is_named) {
    options.comparator = BytewiseComparator();
    options.filter_policy = nullptr;
    options.allow_ingest_behind = false;
    options.compaction_filter = nullptr;
  }
  // Left empty, these stay as they are recorded.
  options.filter.clear();
  options.filter_key.clear();
  options.merge_operator = nullptr;
  options.ttl_seconds.reset();
  // FIFO drops whole files when there are too many bytes, whatever the family's rules keep.
  if (options.compaction.kind == CompactionStyle::Kind::kFifo) options.compaction = {};
  return options;
}

ColumnFamilyOptions TableDatabaseImpl::OptionsForNew(const std::string& column_family) {
  ColumnFamilyOptions options = OptionsFor(column_family);
  options.comparator = BytewiseComparator();
  // What came in behind might be what a marker hid that has gone.
  options.allow_ingest_behind = false;
  return options;
}

// The one that is recorded, if the user has given it; null: one that is built in, or none.
std::shared_ptr<const MergeOperator> TableDatabaseImpl::MergeOperatorOf(
    const std::string& column_family, std::string_view recorded) const {
  const auto named = options_.column_families.find(column_family);
  const ColumnFamilyOptions& given =
      named != options_.column_families.end() ? named->second : options_;
  const bool is_recorded =
      given.merge_operator != nullptr && given.merge_operator->Name() == recorded;
  return is_recorded ? given.merge_operator : nullptr;
}

// Which column families are those of tables is known once the database is open. Until then nothing
// is collected in them.
absl::Status TableDatabaseImpl::OpenDatabase(const std::string& path) {
  Options options = options_;
  const auto recorded = ReadRecordedOptions(*FileSystemOf(options_), path);
  // NotFound: there is no database yet.
  if (!recorded.ok() && !absl::IsNotFound(recorded.status())) return recorded.status();
  // A name with a colon may be that of a table's family (ColumnFamilyName). Where there is none of
  // the name yet the options wait for a table that has it (OptionsFor).
  std::erase_if(options.column_families,
                [](const auto& named) { return HasTableName(named.first); });
  if (recorded.ok()) {
    for (const RecordedOptions::Family& family : recorded->families) {
      const std::string& name = family.name;
      if (name == kCatalogFamily) options.column_families[name] = ColumnFamilyOptions();
      if (!HasTableName(name)) continue;
      ColumnFamilyOptions own = OptionsFor(name);
      // It may be none of a table, and have operands.
      own.merge_operator = MergeOperatorOf(name, family.merge_operator);
      options.column_families[name] = std::move(own);
    }
  }
  WINNOW_ASSIGN_OR_RETURN(db_, DB::Open(options, path));
  WINNOW_ASSIGN_OR_RETURN(catalog_, Catalog::Open(&store()));
  WINNOW_ASSIGN_OR_RETURN(Catalog::Contents contents, catalog_->Load());
  clock_ = std::make_unique<WriteClock>(
      options_.clock != nullptr ? options_.clock : SystemClock(), contents.bounds,
      [this](const WriteClock::Bounds& bounds) { return catalog_->SaveBounds(bounds); });
  // Before the tables: a column family that has an intent is named by no schema.
  WINNOW_RETURN_IF_ERROR(DropLeftovers(&contents));
  const MutexLock lock(&schema_mutex_);
  for (auto& [name, stored] : contents.tables) {
    WINNOW_RETURN_IF_ERROR(AdoptTable(name, std::move(stored)));
  }
  return absl::OkStatus();
}

// An intent is left by a change of schema that a crash cut short before the schema was saved, or
// after it and before the column families were dropped: in both cases they belong to no table.
absl::Status TableDatabaseImpl::DropLeftovers(Catalog::Contents* contents) {
  if (contents->intents.empty()) return absl::OkStatus();
  return DropColumnFamilies(contents->intents);
}

// Under a budget for the memory of filters none has an amount of its own. That of the schema counts
// again when there is no budget any more.
absl::StatusOr<FilterTexts> TableDatabaseImpl::FilterTextsNow(const FamilySchema& schema) {
  FilterTexts texts = FilterTextsOf(schema);
  WINNOW_ASSIGN_OR_RETURN(const std::string budget,
                          db_->GetOption(nullptr, "filter_memory_budget"));
  if (budget != "0") texts.filter = FilterWithoutAmount(texts.filter);
  return texts;
}

// A time to live of the store's own may have been set where nobody knew of tables.
absl::Status TableDatabaseImpl::ApplySchema(ColumnFamily* column_family,
                                            const FamilySchema& schema) {
  WINNOW_ASSIGN_OR_RETURN(const FilterTexts texts, FilterTextsNow(schema));
  const OptionSetting settings[] = {
      {"filter", texts.filter}, {"filter_key", texts.filter_key}, {"ttl_seconds", "0"}};
  const bool are_in_force =
      std::all_of(std::begin(settings), std::end(settings), [&](const OptionSetting& setting) {
        // Compared as texts, which FilterTextsOf writes as the store does.
        const auto present = db_->GetOption(column_family, setting.name);
        return present.ok() && *present == setting.text;
      });
  return are_in_force ? absl::OkStatus() : store().SetOptionsAsOwner(column_family, settings);
}

absl::Status TableDatabaseImpl::AdoptTable(const std::string& name, StoredTable stored) {
  auto state = std::make_unique<TableState>(this, name);
  std::list<FamilyList> lists(1);
  FamilyList& list = lists.front();
  for (StoredFamily& family : stored.families) {
    const std::string column_family_name = ColumnFamilyName(name, family.schema.name);
    const auto column_family = db_->FindColumnFamily(column_family_name);
    // The list has a gap then; the stored schema keeps the family, for AlterTable to make it anew.
    if (!column_family.ok()) {
      // The other tables are not to be out of reach for it.
      if (!absl::IsNotFound(column_family.status())) return column_family.status();
      if (state->is_usable()) state->SetMissing(family.schema.name);
      continue;
    }
    WINNOW_RETURN_IF_ERROR(ApplySchema(*column_family, family.schema));
    // Compactions may have taken the last one, and no snapshot is left that would need it. The next
    // one is recorded as the first was.
    family.has_row_markers = family.has_row_markers && store().MayHaveFarMarkers(*column_family);
    list.push_back(AddFamilyState(name, family, *column_family));
  }
  state->SetFamilies(std::move(lists));
  tables_[name] = Entry{std::move(state), std::move(stored)};
  return absl::OkStatus();
}

absl::Status TableDatabaseImpl::Close() {
  if (db_ == nullptr) return absl::OkStatus();
  absl::Status saved;
  if (clock_ != nullptr) {
    // A write, and so before the store is closed. If it fails the next opening goes on from the
    // bounds that were saved ahead.
    saved = CatchOutOfMemory([this] { return clock_->SaveExactly(); });
    // Closed before.
    if (absl::IsFailedPrecondition(saved)) saved = absl::OkStatus();
  }
  const absl::Status closed = db_->Close();
  // What keeps the store from closing weighs more than a gap in numbers.
  return closed.ok() ? saved : closed;
}

}  // namespace winnow
