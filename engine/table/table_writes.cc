// Mutations. Each holds the latches of its rows from before it takes its write numbers until its
// batch is written.
//
// In each the order is: what can be checked without latches; the latches of the rows; the tables
// once more, which may have changed; flags of families, for which the latches are given back, since
// SetFlag takes all of them; the clock; what has to be read; one batch to the store.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/large_buffer.h"
#include "engine/base/status.h"
#include "engine/table/table_database.h"
#include "engine/write/batch_format.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/per_thread.h"

namespace winnow {

namespace {

constexpr size_t kCounterBytes = 8;
// Columns of so few versions are kept clean by whoever reads them to write them.
constexpr uint32_t kFewVersions = 4;

// The thread's own.
struct PutBuffers {
  std::string key;
  WriteBatch batch;
};

// The most significant byte first, in two's complement; no bytes at all are 0.
int64_t DecodeCounter(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return static_cast<int64_t>(number);
}

std::string EncodeCounter(int64_t counter) {
  std::string bytes(kCounterBytes, '\0');
  for (size_t i = 0; i < kCounterBytes; i++) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(counter) >> (8 * (kCounterBytes - 1 - i)));
  }
  return bytes;
}

bool Holds(const CellCondition& condition, bool is_there, std::string_view value) {
  using Operator = CellCondition::Operator;
  if (!is_there || condition.op == Operator::kAbsent) {
    return !is_there && condition.op == Operator::kAbsent;
  }
  const int order = value.compare(condition.value);
  switch (condition.op) {
    case Operator::kAbsent:
      return false;
    case Operator::kEqual:
      return order == 0;
    case Operator::kNotEqual:
      return order != 0;
    case Operator::kLess:
      return order < 0;
    case Operator::kLessOrEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    case Operator::kGreaterOrEqual:
      return order >= 0;
  }
  return false;
}

std::vector<uint16_t> LatchesOf(const std::vector<TableChange>& changes) {
  std::vector<uint16_t> latches;
  latches.reserve(changes.size() + 1);
  for (const TableChange& change : changes) latches.push_back(RowLatches::LatchOf(change.row));
  return latches;
}

}  // namespace

// Without latches: a batch that is wrong holds up nobody.
absl::Status TableDatabaseImpl::CheckChanges(const std::vector<TableChange>& changes) {
  for (const TableChange& change : changes) {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const table, CheckTable(change.table, this));
    if (change.type != TableChangeType::kDeleteRow) {
      if (auto family = table->Find(change.family); !family.ok()) return family.status();
    }
    WINNOW_RETURN_IF_ERROR(CheckChange(change));
    WINNOW_RETURN_IF_ERROR(CheckCellBytes(change.value, max_cell_bytes()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TableDatabaseImpl::MissingFlag>> TableDatabaseImpl::FindMissingFlag(
    const std::vector<TableChange>& changes) {
  for (const TableChange& change : changes) {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const table, CheckTable(change.table, this));
    const bool marks_row =
        change.type == TableChangeType::kDeleteFamily || change.type == TableChangeType::kDeleteRow;
    if (!marks_row && change.ttl_ms == 0) continue;
    for (const FamilyState* const family : table->families()) {
      if (change.type != TableChangeType::kDeleteRow && family->name != change.family) continue;
      if (marks_row && !family->rules->has_row_markers()) {
        return MissingFlag{table, family, Flag::kRowMarkers};
      }
      if (change.ttl_ms != 0 && !family->rules->has_cell_ttls()) {
        return MissingFlag{table, family, Flag::kCellTtls};
      }
    }
  }
  return std::nullopt;
}

// Each family's flags are set once in its life: after that the first turn is the last. A family
// that comes into the table, perhaps under the name of another, comes without flags, and may do so
// whenever nobody holds a latch.
template <typename Call>
auto TableDatabaseImpl::WithLatches(const std::vector<uint16_t>& wanted,
                                    const std::vector<TableChange>& changes, const Call& call)
    -> decltype(call()) {
  while (true) {
    std::optional<MissingFlag> missing;
    {
      const RowLatchGuard latches(latches_, wanted);
      WINNOW_ASSIGN_OR_RETURN(missing, FindMissingFlag(changes));
      if (!missing) return call();
    }
    // Without latches: SetFlag takes the mutex of schemas, which comes before them in the lock
    // order.
    const absl::Status set = SetFlag(*missing->table, missing->family->name, missing->flag);
    // NotFound: the family has left the table meanwhile.
    if (!set.ok() && !absl::IsNotFound(set)) return set;
  }
}

absl::Status TableDatabaseImpl::Write(const WriteOptions& options, const TableBatch& batch) {
  return CatchOutOfMemory([&]() -> absl::Status {
    const std::vector<TableChange>& changes = TableBatchAccess::changes(batch);
    if (changes.empty()) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(CheckChanges(changes));
    return WithLatches(LatchesOf(changes), changes, [&] { return WriteLatched(options, changes); });
  });
}

// Tables are looked at again: they change while nobody holds a latch.
absl::Status TableDatabaseImpl::WriteLatched(const WriteOptions& options,
                                             const std::vector<TableChange>& changes) {
  // A batch that can be read takes more time and memory, so that one is made only where it is
  // needed.
  bool reads_changes = false;
  for (const TableChange& change : changes) {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const table, CheckTable(change.table, this));
    reads_changes = reads_changes || RowWriter::NeedsReads(*table, change);
  }
  // A number for each change: later ones of a batch see those before, and a marker hides what has a
  // smaller number.
  WINNOW_ASSIGN_OR_RETURN(const WriteClock::Stamp stamp, clock_->Take(changes.size()));
  RowWriter writer(db_.get(), stamp, reads_changes);
  for (const TableChange& change : changes) {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const table, CheckTable(change.table, this));
    WINNOW_RETURN_IF_ERROR(writer.Apply(*table, change));
  }
  return store().WriteAsOwner(options, writer.batch());
}

// The common case without a batch of changes, in buffers of the thread.
absl::Status TableDatabaseImpl::Put(const WriteOptions& options, Table* table, std::string_view row,
                                    std::string_view family, std::string_view qualifier,
                                    std::string_view value) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_RETURN_IF_ERROR(CheckQualifier(qualifier));
    WINNOW_RETURN_IF_ERROR(CheckCellBytes(value, max_cell_bytes()));
    {
      const uint16_t wanted = RowLatches::LatchOf(row);
      // The clock is read while the latch is on its way from memory.
      latches_.Prefetch(wanted);
      const uint64_t read_ms = clock_->Read();
      const RowLatchGuard latch(latches_, wanted);
      WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
      WINNOW_ASSIGN_OR_RETURN(const FamilyState* const found, state->Find(family));
      // The flag does not change while a latch is held (SetFlag).
      if (!found->rules->has_cell_ttls()) [[likely]] {
        WINNOW_ASSIGN_OR_RETURN(const WriteClock::Stamp stamp, clock_->TakeAt(read_ms, 1));
        PutBuffers& buffers = PerThread<PutBuffers>::Get();
        MakeCellKey(row, qualifier, stamp.now_ms, CellKind::kVersion, &buffers.key);
        char header[kMaxCellHeaderBytes];
        const char* const header_end = EncodeCellHeader({stamp.write_number, 0, {}}, header);
        buffers.batch.Clear();
        WriteBatchAccess::PutInParts(&buffers.batch, found->column_family, buffers.key,
                                     std::string_view(header, header_end), value);
        const absl::Status status = store().WriteAsOwner(options, buffers.batch);
        // One large value is not kept for ever.
        if (buffers.batch.size_bytes() > kLargeBufferBytes) [[unlikely]] {
          WriteBatch fresh;
          std::swap(buffers.batch, fresh);
        }
        return status;
      }
    }
    // The column has to be read first. The latch has been given back, for Write takes it itself.
    TableBatch batch;
    batch.Put(table, row, family, qualifier, value);
    return Write(options, batch);
  });
}

absl::StatusOr<TableDatabaseImpl::NewestCell> TableDatabaseImpl::ReadNewest(
    CellMoment& moment, const FamilyState& family, std::string_view row,
    std::string_view qualifier) {
  CellQuery query;
  AppendQualifier(qualifier, &query.columns.emplace_back());
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FamilyCursor> cursor,
                          OpenRow(moment, family, row, std::move(query)));
  NewestCell newest;
  newest.is_there = cursor->Valid();
  if (!newest.is_there) return newest;
  newest.timestamp = cursor->timestamp();
  newest.value.assign(cursor->value());
  return newest;
}

template <typename Change>
absl::Status TableDatabaseImpl::ReadModifyWrite(const WriteOptions& options, Table* table,
                                                std::string_view row, std::string_view family,
                                                std::string_view qualifier, const Change& change) {
  TableChange put{TableChangeType::kPut,  table, std::string(row), std::string(family),
                  std::string(qualifier), {},    std::nullopt};
  WINNOW_RETURN_IF_ERROR(CheckChange(put));
  // From before the read until the write is done: nobody changes the column in between.
  const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
  WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
  WINNOW_ASSIGN_OR_RETURN(const FamilyState* const found, state->Find(family));
  WINNOW_ASSIGN_OR_RETURN(const WriteClock::Stamp stamp, clock_->Take(1));
  // It has to be read: CleanColumn looks at the column with the put in it.
  RowWriter writer(db_.get(), stamp, /*reads_changes=*/true);
  WINNOW_ASSIGN_OR_RETURN(const NewestCell newest,
                          ReadNewest(writer.moment(), *found, row, qualifier));
  // Below a newest version of the future the new one would not be the newest. With an equal
  // timestamp it takes that one's place, as the same key.
  put.timestamp = std::max(stamp.now_ms, newest.timestamp);
  WINNOW_ASSIGN_OR_RETURN(put.value, change(newest));
  WINNOW_RETURN_IF_ERROR(CheckCellBytes(put.value, max_cell_bytes()));
  WINNOW_RETURN_IF_ERROR(writer.Apply(*state, put));
  // Otherwise a counter would leave a version at each step for readers to pass over.
  if (found->rules->Load().max_versions <= kFewVersions) {
    WINNOW_RETURN_IF_ERROR(writer.CleanColumn(*found, row, qualifier));
  }
  return store().WriteAsOwner(options, writer.batch());
}

absl::StatusOr<int64_t> TableDatabaseImpl::Increment(const WriteOptions& options, Table* table,
                                                     std::string_view row, std::string_view family,
                                                     std::string_view qualifier, int64_t amount) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<int64_t> {
    int64_t sum = 0;
    const auto add = [&](const NewestCell& newest) -> absl::StatusOr<std::string> {
      if (newest.is_there && newest.value.size() != kCounterBytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the column holds ", newest.value.size(), " bytes, and a counter has ", kCounterBytes));
      }
      // Unsigned, so that it wraps around.
      sum = static_cast<int64_t>(static_cast<uint64_t>(DecodeCounter(newest.value)) +
                                 static_cast<uint64_t>(amount));
      return EncodeCounter(sum);
    };
    WINNOW_RETURN_IF_ERROR(ReadModifyWrite(options, table, row, family, qualifier, add));
    return sum;
  });
}

absl::StatusOr<std::string> TableDatabaseImpl::Append(const WriteOptions& options, Table* table,
                                                      std::string_view row, std::string_view family,
                                                      std::string_view qualifier,
                                                      std::string_view suffix) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::string> {
    std::string whole;
    const auto append = [&](const NewestCell& newest) -> absl::StatusOr<std::string> {
      whole = newest.value;
      // O(value) each time: there is no operand to merge later, since the call gives the whole
      // value.
      whole.append(suffix);
      return whole;
    };
    WINNOW_RETURN_IF_ERROR(ReadModifyWrite(options, table, row, family, qualifier, append));
    return whole;
  });
}

template <typename Condition>
absl::StatusOr<bool> TableDatabaseImpl::WriteIf(const WriteOptions& options, Table* table,
                                                std::string_view row, const Condition& condition,
                                                const TableBatch& batch) {
  const std::vector<TableChange>& changes = TableBatchAccess::changes(batch);
  WINNOW_RETURN_IF_ERROR(CheckChanges(changes));
  WINNOW_RETURN_IF_ERROR(CheckRow(row));
  std::vector<uint16_t> wanted = LatchesOf(changes);
  // With those of the batch and not after them: guards that take all of theirs in one ascending
  // pass do not wait for each other in a circle.
  wanted.push_back(RowLatches::LatchOf(row));
  return WithLatches(wanted, changes, [&]() -> absl::StatusOr<bool> {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    CellMoment moment;
    moment.db = db_.get();
    moment.is_latched = true;
    moment.clock = clock_.get();
    WINNOW_ASSIGN_OR_RETURN(const bool holds, condition(*state, moment));
    if (!holds) return false;
    // With an empty batch the call only asks.
    if (!changes.empty()) WINNOW_RETURN_IF_ERROR(WriteLatched(options, changes));
    return true;
  });
}

absl::StatusOr<bool> TableDatabaseImpl::CheckAndMutate(const WriteOptions& options, Table* table,
                                                       const CellCondition& condition,
                                                       const TableBatch& batch) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    WINNOW_RETURN_IF_ERROR(CheckQualifier(condition.qualifier));
    const auto holds = [&](const TableState& state, CellMoment& moment) -> absl::StatusOr<bool> {
      WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family, state.Find(condition.family));
      WINNOW_ASSIGN_OR_RETURN(const NewestCell newest,
                              ReadNewest(moment, *family, condition.row, condition.qualifier));
      return Holds(condition, newest.is_there, newest.value);
    };
    return WriteIf(options, table, condition.row, holds, batch);
  });
}

absl::StatusOr<bool> TableDatabaseImpl::CheckAndMutate(const WriteOptions& options, Table* table,
                                                       std::string_view row,
                                                       const TableFilter& condition,
                                                       const TableBatch& batch) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    const auto holds = [&](const TableState& state, CellMoment& moment) -> absl::StatusOr<bool> {
      // By default of all families, one version of each column: whether anything is shown is all
      // that counts.
      TableReadOptions read;
      read.filter = condition;
      WINNOW_ASSIGN_OR_RETURN(const std::vector<FamilyQuery> plan, PlanRead(state, read));
      RowResult result;
      WINNOW_RETURN_IF_ERROR(ReadRow(read, plan, moment, row, &result));
      return !result.empty();
    };
    return WriteIf(options, table, row, holds, batch);
  });
}

// Rows are deleted for good as keys: what is written later has other keys, or newer ones. All
// latches: a batch that is being written may be of rows in between.
absl::Status TableDatabaseImpl::DeleteRows(const WriteOptions& options, Table* table,
                                           std::string_view from, std::string_view to) {
  return CatchOutOfMemory([&]() -> absl::Status {
    const size_t longest = std::max(from.size(), to.size());
    if (longest > kMaxRowBytes) return CheckRow(from.size() == longest ? from : to);
    if (!to.empty() && to < from) {
      return absl::InvalidArgumentError("DeleteRows: `to` comes before `from`");
    }
    // Escaped rows without an end: below all keys of the row, and above all of those before it.
    std::string begin;
    AppendEscaped(from, &begin);
    std::string end = EndOfTable();
    if (!to.empty()) {
      end.clear();
      AppendEscaped(to, &end);
    }
    if (begin == end) return absl::OkStatus();
    const RowLatchGuard everyone(latches_);
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WriteBatch batch;
    for (const FamilyState* const family : state->families()) {
      batch.DeleteRange(family->column_family, begin, end);
    }
    return store().WriteAsOwner(options, batch);
  });
}

}  // namespace winnow
