// winnow import: carries a LevelDB or RocksDB database over.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/import_marker.h"
#include "tools/winnow/pair_digest.h"
#include "tools/winnow/peer.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/sorted_tables.h"
#include "tools/winnow/unfinished_marker.h"

namespace winnow::cli {
namespace {

constexpr uint64_t kPairsBetweenUpdates = 8192;

struct FamilyResult {
  std::string name;
  PairDigest source;
  uint64_t found_already = 0;  // pairs that an interrupted import had written
};

class Importer {
 public:
  // `path` is the database's.
  Importer(PeerReader& source, DB& db, std::string path, const ColumnFamilyOptions& new_family,
           uint64_t total_bytes)
      : source_(source),
        db_(db),
        path_(std::move(path)),
        new_family_(new_family),
        progress_(total_bytes) {}

  // Reads the family to its end, or to the first pair that cannot be read or written.
  absl::Status CopyFamily(const std::string& name) {
    FamilyResult& result = results_.emplace_back();
    result.name = name;
    WINNOW_ASSIGN_OR_RETURN(ColumnFamily* const family, FindOrCreate(name));
    WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> last_key, LastKey(family));
    const std::unique_ptr<PeerCursor> cursor = source_.NewCursor(name);
    SortedTables tables(db_, family, path_, new_family_.target_file_bytes);
    absl::Status status;
    for (; status.ok() && cursor->Valid(); cursor->Next()) {
      result.source.Add(cursor->key(), cursor->value());
      if (last_key.has_value() && cursor->key() <= *last_key) {
        result.found_already++;
      } else {
        status = tables.Put(cursor->key(), cursor->value());
      }
      pairs_++;
      if (pairs_ % kPairsBetweenUpdates == 0) {
        progress_.Update(pairs_, finished_bytes_ + source_.FileBytesBefore(name, cursor->key()));
      }
    }
    // What was read before an error is kept.
    status.Update(cursor->status());
    status.Update(tables.Finish());
    num_tables_ += tables.tables();
    finished_bytes_ += source_.FileBytes(name);
    return status;
  }

  // Reads every family of the new database and compares.
  absl::Status Verify() {
    for (const FamilyResult& result : results_) {
      WINNOW_ASSIGN_OR_RETURN(ColumnFamily* const family, db_.FindColumnFamily(result.name));
      ReadOptions options;
      options.fill_cache = false;
      PairDigest written;
      const std::unique_ptr<Iterator> entry = db_.NewIterator(options, family);
      for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
        written.Add(entry->key(), entry->value());
      }
      WINNOW_RETURN_IF_ERROR(entry->status());
      if (written == result.source) continue;
      return absl::DataLossError(absl::StrFormat(
          "column family '%s': the source has %d pairs (checksum %016x), the new database %d "
          "(checksum %016x)",
          result.name, result.source.num_pairs(), result.source.checksum(), written.num_pairs(),
          written.checksum()));
    }
    return absl::OkStatus();
  }

  void Report(const absl::Status& status, bool json, Output& output) {
    progress_.Clear();
    const double seconds = progress_.seconds();
    Json families = Json::array();
    uint64_t bytes = 0;
    uint64_t resumed = 0;
    for (const FamilyResult& result : results_) {
      Json family = Json::object();
      AddBytes(&family, "name", result.name, /*hex=*/false);
      family["entries"] = result.source.num_pairs();
      family["bytes"] = result.source.bytes();
      family["checksum"] = absl::StrFormat("%016x", result.source.checksum());
      families.push_back(std::move(family));
      bytes += result.source.bytes();
      resumed += result.found_already;
    }
    const uint64_t rate = PerSecond(pairs_, seconds);
    if (json) {
      output.Write(ToLine(Json{{"families", std::move(families)},
                               {"entries", pairs_},
                               {"resumed_entries", resumed},
                               {"ingested_tables", num_tables_},
                               {"verified", status.ok()},
                               {"seconds", seconds},
                               {"entries_per_second", rate}}));
      return;
    }
    std::string line = absl::StrFormat(
        "%s of %s, %s in %s: %s entries/s", report::HumanCount(pairs_, "entry", "entries"),
        report::HumanCount(results_.size(), "column family", "column families"),
        report::HumanBytes(static_cast<double>(bytes)), report::HumanSeconds(seconds),
        report::HumanCount(rate));
    absl::StrAppend(&line, "; ingested as ", report::HumanCount(num_tables_, "table", "tables"));
    if (resumed > 0)
      absl::StrAppend(&line, "; ", report::HumanCount(resumed), " were there already");
    absl::StrAppend(&line, status.ok() ? "; read again and compared: the same" : "; not finished");
    Complain("import", line);
  }

 private:
  absl::StatusOr<ColumnFamily*> FindOrCreate(const std::string& name) {
    absl::StatusOr<ColumnFamily*> family = db_.FindColumnFamily(name);
    if (!absl::IsNotFound(family.status())) return family;
    return db_.CreateColumnFamily(new_family_, name);
  }

  absl::StatusOr<std::optional<std::string>> LastKey(ColumnFamily* family) {
    const std::unique_ptr<Iterator> entry = db_.NewIterator(ReadOptions(), family);
    entry->SeekToLast();
    WINNOW_RETURN_IF_ERROR(entry->status());
    if (!entry->Valid()) return std::optional<std::string>();
    return std::optional<std::string>(entry->key());
  }

  PeerReader& source_;
  DB& db_;
  const std::string path_;
  const ColumnFamilyOptions new_family_;
  Progress progress_;
  std::vector<FamilyResult> results_;
  uint64_t pairs_ = 0;
  uint64_t num_tables_ = 0;
  uint64_t finished_bytes_ = 0;
};

// While an import is unfinished a marker is in the database's directory. The pairs of a family are
// written in key order, so what an interrupted import leaves is a prefix of them.
//
// A database that an earlier import left unfinished, or an empty one.
absl::StatusOr<std::unique_ptr<DB>> OpenTarget(const Arguments& arguments, const std::string& path,
                                               const UnfinishedMarker& marker) {
  WINNOW_ASSIGN_OR_RETURN(const Options options, OptionsToOpen(arguments, Access::kWriteOrCreate));
  WINNOW_ASSIGN_OR_RETURN(const bool resumes, marker.Exists());
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DB> db, DB::Open(options, path));
  if (resumes) return db;
  for (ColumnFamily* family : db->ColumnFamilies()) {
    const std::unique_ptr<Iterator> entry = db->NewIterator(ReadOptions(), family);
    entry->SeekToFirst();
    WINNOW_RETURN_IF_ERROR(entry->status());
    if (entry->Valid()) {
      return absl::AlreadyExistsError(
          absl::StrCat(path, " holds entries already: import into a new database"));
    }
  }
  WINNOW_RETURN_IF_ERROR(marker.Write());
  return db;
}

absl::StatusOr<ExitCode> RunImport(const Arguments& arguments, Output& output) {
  const std::optional<std::string> engine = arguments.Text("from");
  if (!engine.has_value()) {
    return absl::InvalidArgumentError("name the source's engine: --from=leveldb or --from=rocksdb");
  }
  WINNOW_ASSIGN_OR_RETURN(const Peer peer, FindPeer(*engine));
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  const std::string& given = arguments.positionals()[0];
  const UnfinishedMarker marker(path, kImportMarkerName, "import",
                                absl::StrCat(*engine, ":", CanonicalPath(given)));

  if (const absl::Status is_there = CheckPeerDatabase(peer, given); !is_there.ok()) {
    return WithContext(is_there, absl::StrCat("cannot open ", given));
  }
  absl::StatusOr<std::unique_ptr<PeerReader>> source = peer.open(given);
  if (!source.ok()) return WithContext(source.status(), absl::StrCat("cannot open ", given));
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenTarget(arguments, path, marker));
  WINNOW_ASSIGN_OR_RETURN(const Options options,
                          DatabaseOptions(arguments, Access::kWriteOrCreate));
  uint64_t total_bytes = 0;
  for (const std::string& family : (*source)->families()) {
    total_bytes += (*source)->FileBytes(family);
  }
  Importer importer(**source, *db, path, options, total_bytes);
  absl::Status status;
  for (const std::string& family : (*source)->families()) {
    status = importer.CopyFamily(family);
    if (!status.ok()) {
      // The source is at fault, not the command line: a key over the limit.
      if (absl::IsInvalidArgument(status)) {
        status = absl::FailedPreconditionError(status.message());
      }
      status = WithContext(status, absl::StrCat("column family '", family, "' of ", given,
                                                "; the entries before this are kept, and the same "
                                                "command goes on behind them"));
      break;
    }
  }
  if (status.ok()) status = importer.Verify();
  if (status.ok()) status = marker.Remove();
  status.Update(db->Close());
  importer.Report(status, arguments.Has("json"), output);
  if (!status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

Command ImportCommand() {
  return {
      .name = "import",
      .positionals = {"DIR", 1, 1},
      .database = DatabaseUse::kNone,
      .summary = "copy a LevelDB or RocksDB database into a new one",
      .details = R"(
Copies every column family of the database in DIR, in key order, then reads the new
database and compares the number and a checksum of all pairs. An import that was interrupted
goes on where it stopped when the command is given again. At damage in the source it stops
with the reason; what was read before is kept. The source's keys must be in bytewise order.
LevelDB has no way to open a database without recovering its log, which this does too;
RocksDB's is opened read-only, and without its program's merge operator: where it has
operands that are not merged yet the import stops, and a full compaction by that program
helps. The total is reported on standard error.)",
      .json = R"(
{"families":[{"name":NAME,"entries":N,"bytes":N,"checksum":HEX},...],"entries":N,
    "resumed_entries":N,"ingested_tables":N,"verified":B,"seconds":S,"entries_per_second":R})",
      .examples = R"(
  winnow import --from=leveldb /var/lib/app/leveldb --db=/var/lib/app/winnow
  winnow import --from=rocksdb old --db=new --filter=cuckoo:0.1% --set=compression=zstd)",
      .flags = {{"from", "ENGINE", "leveldb or rocksdb"},
                {"db", "DIR", "the new database's directory"},
                {"filter", "SPEC", "filter of every column family (default: blocked_bloom:10)"},
                {"filter-key", "PART",
                 "part of the key that filters know, as prefix:8 or whole+prefix:8\n"
                 "(default: whole)"},
                {"set", "NAME=VALUE", "an option of the store; repeatable", /*repeatable=*/true}},
      .run = RunImport,
  };
}

}  // namespace winnow::cli
