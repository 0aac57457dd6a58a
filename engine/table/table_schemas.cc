// Creating, altering and dropping tables. Each is one batch in the catalog; column families are
// created before it and dropped after it, under intents by which the next opening finishes what a
// crash has left.
#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

#include "engine/base/status.h"
#include "engine/table/signed_columns.h"
#include "engine/table/table_database.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

absl::Status NoSuchTable(std::string_view name) {
  return absl::NotFoundError(absl::StrCat("there is no table '", ToAbsl(name), "'"));
}

const StoredFamily* FindStored(const StoredTable& table, std::string_view family) {
  for (const StoredFamily& stored : table.families) {
    if (stored.schema.name == family) return &stored;
  }
  return nullptr;
}

// What the table is to be, from what it is.
// A family that stays keeps its flags, since its cells stay as well, and the time of its last
// tightening unless this is another.
StoredTable Altered(const StoredTable& before, const TableSchema& schema, uint64_t now_ms) {
  StoredTable after;
  for (const FamilySchema& family : schema.families) {
    const StoredFamily* const old = FindStored(before, family.name);
    StoredFamily stored = old != nullptr ? *old : StoredFamily();
    if (old != nullptr && AreStricter(family, old->schema)) stored.tightened_ms = now_ms;
    stored.schema = family;
    after.families.push_back(std::move(stored));
  }
  return after;
}

}  // namespace

absl::StatusOr<TableDatabaseImpl::Entry*> TableDatabaseImpl::FindEntry(std::string_view name) {
  WINNOW_RETURN_IF_ERROR(store().CheckUsable());
  const auto at = tables_.find(name);
  if (at == tables_.end()) return NoSuchTable(name);
  return &at->second;
}

absl::StatusOr<TableDatabaseImpl::Entry*> TableDatabaseImpl::FindUsableEntry(
    std::string_view name) {
  WINNOW_ASSIGN_OR_RETURN(Entry* const entry, FindEntry(name));
  if (!entry->state->is_usable()) return entry->state->Unusable();
  return entry;
}

absl::StatusOr<Table*> TableDatabaseImpl::FindTable(std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Table*> {
    const MutexLock lock(&schema_mutex_);
    WINNOW_ASSIGN_OR_RETURN(Entry* const entry, FindEntry(name));
    return entry->state.get();
  });
}

std::vector<std::string> TableDatabaseImpl::ListTables() {
  const MutexLock lock(&schema_mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : tables_) names.push_back(name);
  return names;
}

absl::StatusOr<TableSchema> TableDatabaseImpl::DescribeTable(std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TableSchema> {
    const MutexLock lock(&schema_mutex_);
    WINNOW_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(name));
    TableSchema schema;
    schema.name = name;
    for (const StoredFamily& family : entry->stored.families) {
      schema.families.push_back(family.schema);
    }
    return schema;
  });
}

// While nobody writes to the family: all latches are held, or it is not known to anybody yet.
FamilyRules TableDatabaseImpl::RulesFromNow(const StoredFamily& family) {
  FamilyRules rules = RulesOf(family);
  rules.since_sequence = store().visible_sequence();
  return rules;
}

const FamilyState* TableDatabaseImpl::AddFamilyState(const std::string& table,
                                                     const StoredFamily& family,
                                                     ColumnFamily* column_family) {
  // Rules and flags before the clock: with the clock the collectors begin to drop cells by them.
  CellCollectors& cells = CollectorsOf(ColumnFamilyName(table, family.schema.name));
  cells.rules().Store(LiveRules::Prepare(RulesFromNow(family)));
  cells.rules().StoreFlags(family.has_row_markers, family.has_cell_ttls);
  cells.SetClock(clock_.get());
  store().ReserveForOwner(column_family, {.key_time_parser = ParseCellTime,
                                          .signed_entry_parser = ParseSignedCell,
                                          .lifetimes = &cells,
                                          .collectors = &cells});
  store().SetSignedFields(column_family, SignedFieldsOf(family.schema));
  families_.push_back(std::make_unique<FamilyState>(
      FamilyState{family.schema.name, column_family, &cells.rules()}));
  return families_.back().get();
}

// The intents are durable before there is anything to clear away.
absl::Status TableDatabaseImpl::CreateColumnFamilies(const std::vector<std::string>& names,
                                                     const std::vector<FamilySchema>& schemas) {
  for (const std::string& name : names) {
    if (!db_->FindColumnFamily(name).ok()) continue;
    return absl::AlreadyExistsError(absl::StrCat("there is a column family '", name, "'"));
  }
  WINNOW_RETURN_IF_ERROR(catalog_->AddIntents(names));
  size_t num_created = 0;
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    for (; num_created < names.size(); num_created++) {
      ColumnFamilyOptions options = OptionsForNew(names[num_created]);
      WINNOW_ASSIGN_OR_RETURN(const FilterTexts texts, FilterTextsNow(schemas[num_created]));
      options.filter = texts.filter;
      options.filter_key = texts.filter_key;
      const auto created = db_->CreateColumnFamily(options, names[num_created]);
      if (!created.ok()) return created.status();
    }
    return absl::OkStatus();
  });
  if (!status.ok()) UndoCreation(names, num_created);
  return status;
}

// Of the other names a column family may be somebody else's: their intents go, or the next opening
// would drop it. What cannot be dropped here keeps its intent, and goes then.
void TableDatabaseImpl::UndoCreation(const std::vector<std::string>& names, size_t num_created) {
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(num_created);
  UnlessOutOfMemory([&] {
    if (end != names.end()) catalog_->RemoveIntents({end, names.end()}).IgnoreError();
    if (num_created > 0) DropColumnFamilies({names.begin(), end}).IgnoreError();
  });
}

// One that is not there was never created, or was dropped before a crash. Intents go last,
// together: until then whatever is left is dropped by the next opening.
absl::Status TableDatabaseImpl::DropColumnFamilies(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto family = db_->FindColumnFamily(name);
    if (!family.ok()) continue;
    WINNOW_RETURN_IF_ERROR(store().DropAsOwner(*family));
  }
  return catalog_->RemoveIntents(names);
}

absl::StatusOr<Table*> TableDatabaseImpl::CreateTable(const TableSchema& wanted) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Table*> {
    TableSchema schema = wanted;
    WINNOW_RETURN_IF_ERROR(CheckSchema(&schema));
    const MutexLock lock(&schema_mutex_);
    WINNOW_RETURN_IF_ERROR(store().CheckUsable());
    if (tables_.contains(schema.name)) {
      return absl::AlreadyExistsError(absl::StrCat("there is a table '", schema.name, "'"));
    }
    StoredTable stored = Altered(StoredTable(), schema, 0);
    std::vector<std::string> names;
    for (const FamilySchema& family : schema.families) {
      names.push_back(ColumnFamilyName(schema.name, family.name));
    }
    WINNOW_RETURN_IF_ERROR(CreateColumnFamilies(names, schema.families));
    // In memory first, where nobody sees it while the mutex is held. From SaveTable on the table
    // exists, and nothing is left to fail; a crash before leaves intents alone.
    const absl::Status saved =
        CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_) -> absl::Status {
          WINNOW_RETURN_IF_ERROR(AdoptTable(schema.name, stored));
          return catalog_->SaveTable(schema.name, stored, names, {});
        });
    const auto created = tables_.find(schema.name);
    if (saved.ok()) return created->second.state.get();
    if (created != tables_.end()) tables_.erase(created);
    // Whether the log has the table is not known after an error: intents take its place first.
    if (catalog_->RemoveTable(schema.name, names).ok()) UndoCreation(names, names.size());
    return saved;
  });
}

// In three parts: new column families are created under intents, beside writers; with all rows
// latched the schema is saved, by one batch that takes these intents away and adds those of removed
// families, and what is in memory follows; then the store is told of filters that have changed, and
// removed column families are dropped. A crash leaves the old schema or the new one, and by the
// intents the next opening drops what belongs to neither.
absl::Status TableDatabaseImpl::AlterTable(const TableSchema& wanted) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TableSchema schema = wanted;
    WINNOW_RETURN_IF_ERROR(CheckSchema(&schema));
    const MutexLock lock(&schema_mutex_);
    WINNOW_ASSIGN_OR_RETURN(Entry* const entry, FindEntry(schema.name));
    std::vector<std::string> added;
    std::vector<FamilySchema> added_schemas;
    for (const FamilySchema& family : schema.families) {
      // One that is missing is made anew.
      if (entry->state->Find(family.name).ok()) continue;
      added.push_back(ColumnFamilyName(schema.name, family.name));
      added_schemas.push_back(family);
    }
    std::vector<std::string> removed;
    for (const StoredFamily& family : entry->stored.families) {
      const bool stays =
          std::any_of(schema.families.begin(), schema.families.end(),
                      [&](const FamilySchema& other) { return other.name == family.schema.name; });
      if (!stays) removed.push_back(ColumnFamilyName(schema.name, family.schema.name));
    }
    if (!added.empty()) WINNOW_RETURN_IF_ERROR(CreateColumnFamilies(added, added_schemas));
    const absl::Status changed =
        CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_) -> absl::Status {
          // Nobody writes by some of the old rules and some of the new.
          // The stamp is taken under the latches, so that nothing that was written by the old rules
          // is newer.
          const RowLatchGuard everyone(latches_);
          WINNOW_ASSIGN_OR_RETURN(const WriteClock::Stamp stamp, clock_->Take(1));
          WINNOW_RETURN_IF_ERROR(CleanByOldRules(*entry, schema));
          return ChangeFamilies(entry, Altered(entry->stored, schema, stamp.now_ms), added,
                                removed);
        });
    if (!changed.ok()) {
      // As in CreateTable.
      if (!added.empty() && catalog_->SaveTable(schema.name, entry->stored, removed, added).ok()) {
        UndoCreation(added, added.size());
      }
      return changed;
    }
    // Errors of what follows come last: the table is what it was to be.
    const absl::Status applied = ApplySchemas(*entry);
    const absl::Status dropped = removed.empty() ? absl::OkStatus() : DropColumnFamilies(removed);
    return applied.ok() ? dropped : applied;
  });
}

// A version whose own time is up tells what the old rules let go while it was there. The new ones
// judge what is there from now on, and would show that again.
absl::Status TableDatabaseImpl::CleanByOldRules(const Entry& entry, const TableSchema& schema) {
  for (const FamilySchema& family : schema.families) {
    const StoredFamily* const old = FindStored(entry.stored, family.name);
    if (old == nullptr || !AreStricter(family, old->schema)) continue;
    const absl::StatusOr<const FamilyState*> state = entry.state->Find(family.name);
    if (!state.ok() || !(*state)->rules->has_cell_ttls()) continue;
    WINNOW_RETURN_IF_ERROR(CleanFamily(*entry.state, **state, /*is_latched=*/true));
  }
  return absl::OkStatus();
}

// Whatever may fail, or takes memory, comes before the schema is saved: what is in memory then
// follows it in any case.
absl::Status TableDatabaseImpl::ChangeFamilies(Entry* entry, StoredTable altered,
                                               const std::vector<std::string>& added,
                                               const std::vector<std::string>& removed) {
  const std::string& table = entry->state->name();
  // A family that stays keeps its FamilyState: a TableWriter takes a new one for a new family.
  std::list<FamilyList> lists(1);
  FamilyList& list = lists.front();
  struct Change {
    const FamilyState* family;
    LiveRules::Prepared rules;
    SignedFields signed_fields;
  };
  std::vector<Change> changes;
  for (const StoredFamily& family : altered.families) {
    const std::string name = ColumnFamilyName(table, family.schema.name);
    if (const auto old = entry->state->Find(family.schema.name); old.ok()) {
      list.push_back(*old);
      changes.push_back(
          {*old, LiveRules::Prepare(RulesFromNow(family)), SignedFieldsOf(family.schema)});
      continue;
    }
    WINNOW_ASSIGN_OR_RETURN(ColumnFamily* const column_family, db_->FindColumnFamily(name));
    list.push_back(AddFamilyState(table, family, column_family));
  }
  WINNOW_RETURN_IF_ERROR(catalog_->SaveTable(table, altered, added, removed));
  for (Change& change : changes) {
    change.family->rules->Store(std::move(change.rules));
    store().SetSignedFields(change.family->column_family, std::move(change.signed_fields));
  }
  entry->stored = std::move(altered);
  // Lists are kept until the database is closed, for readers without locks; so none is kept without
  // need.
  if (list != entry->state->families()) entry->state->SetFamilies(std::move(lists));
  entry->state->SetWhole();
  return absl::OkStatus();
}

// The first error. What is not in force then is so after the next alteration, or the next opening.
absl::Status TableDatabaseImpl::ApplySchemas(const Entry& entry) {
  absl::Status first;
  for (const StoredFamily& stored : entry.stored.families) {
    first.Update(CatchOutOfMemory([&]() -> absl::Status {
      WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family,
                              entry.state->Find(stored.schema.name));
      return ApplySchema(family->column_family, stored.schema);
    }));
  }
  return first;
}

absl::Status TableDatabaseImpl::DropTable(std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::Status {
    const MutexLock lock(&schema_mutex_);
    WINNOW_ASSIGN_OR_RETURN(Entry* const entry, FindEntry(name));
    std::vector<std::string> names;
    for (const StoredFamily& family : entry->stored.families) {
      names.push_back(ColumnFamilyName(name, family.schema.name));
    }
    {
      // A writer that has found the table usable holds a latch until it has written; the next one
      // finds it dropped.
      const RowLatchGuard everyone(latches_);
      WINNOW_RETURN_IF_ERROR(catalog_->RemoveTable(name, names));
      entry->state->Drop();
    }
    // Its handles are valid until the database is closed.
    dropped_tables_.push_back(std::move(entry->state));
    tables_.erase(tables_.find(name));
    return DropColumnFamilies(names);
  });
}

// One batch over all families: each key is hidden, and compactions drop them without reading.
absl::Status TableDatabaseImpl::TruncateTable(std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::Status {
    const MutexLock lock(&schema_mutex_);
    WINNOW_ASSIGN_OR_RETURN(Entry* const entry, FindUsableEntry(name));
    // Without them an Increment that has read its column before could write the old sum back behind
    // the truncation.
    const RowLatchGuard everyone(latches_);
    WriteBatch batch;
    const std::string end = EndOfTable();
    for (const FamilyState* const family : entry->state->families()) {
      batch.DeleteRange(family->column_family, {}, end);
    }
    WriteOptions durably;
    durably.sync = true;
    return store().WriteAsOwner(durably, batch);
  });
}

absl::Status TableDatabaseImpl::SetFlag(const TableState& table, std::string_view family,
                                        Flag flag) {
  const MutexLock lock(&schema_mutex_);
  WINNOW_ASSIGN_OR_RETURN(Entry* const entry, FindEntry(table.name()));
  WINNOW_ASSIGN_OR_RETURN(const FamilyState* const state, table.Find(family));
  StoredTable flagged = entry->stored;
  for (StoredFamily& stored : flagged.families) {
    if (stored.schema.name != family) continue;
    (flag == Flag::kRowMarkers ? stored.has_row_markers : stored.has_cell_ttls) = true;
  }
  // A writer looks at the flag under its latch and goes by it until it has written; the flag may
  // not change in between. It is recorded first: a crash before it is used leaves it set for
  // nothing.
  const RowLatchGuard everyone(latches_);
  WINNOW_RETURN_IF_ERROR(catalog_->SaveFlags(table.name(), flagged));
  entry->stored = std::move(flagged);
  if (flag == Flag::kRowMarkers) state->rules->set_has_row_markers();
  if (flag == Flag::kCellTtls) state->rules->set_has_cell_ttls();
  return absl::OkStatus();
}

}  // namespace winnow
