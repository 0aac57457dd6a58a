// winnow export: gives a database to text or to another engine.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/pair_digest.h"
#include "tools/winnow/peer.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/unfinished_marker.h"
#include "winnow/file_system.h"

namespace winnow::cli {
namespace {

constexpr uint64_t kPairsBetweenUpdates = 8192;

std::unique_ptr<Iterator> NewScan(DB& db, ColumnFamily* family) {
  ReadOptions options;
  options.fill_cache = false;
  return db.NewIterator(options, family);
}

absl::StatusOr<ExitCode> ExportText(const OpenedDatabase& opened, const PairFormat& format,
                                    Output& output) {
  const std::unique_ptr<Iterator> entry = NewScan(*opened.db, opened.family);
  for (entry->SeekToFirst(); entry->Valid() && output.ok(); entry->Next()) {
    PrintPair(entry->key(), entry->value(), format, output);
  }
  WINNOW_RETURN_IF_ERROR(entry->status());
  return ExitCode::kOk;
}

// The families to write: the one of --family, or all.
absl::StatusOr<std::vector<ColumnFamily*>> FamiliesToWrite(const Arguments& arguments,
                                                           const OpenedDatabase& opened,
                                                           const Peer& peer) {
  if (arguments.Has("family")) return std::vector<ColumnFamily*>{opened.family};
  std::vector<ColumnFamily*> families = opened.db->ColumnFamilies();
  if (peer.has_families || families.size() == 1) return families;
  std::string names;
  for (const ColumnFamily* family : families) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", ToAbsl(family->name()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("LevelDB has no column families: choose one with --family: ", names));
}

// A family of an engine without families, or one chosen alone, becomes "default".
std::string NameInPeer(const ColumnFamily& family, bool alone) {
  return alone ? "default" : std::string(family.name());
}

// What has been written to the new database.
struct WrittenAmount {
  uint64_t pairs = 0;
  uint64_t bytes = 0;
};

// `before` is that of the families before.
absl::StatusOr<PairDigest> WriteFamily(DB& db, ColumnFamily* family, const std::string& name,
                                       PeerWriter& writer, Progress& progress,
                                       const WrittenAmount& before) {
  if (name != "default") WINNOW_RETURN_IF_ERROR(writer.CreateFamily(name));
  PairDigest digest;
  const std::unique_ptr<Iterator> entry = NewScan(db, family);
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    WINNOW_RETURN_IF_ERROR(writer.Put(name, entry->key(), entry->value()));
    digest.Add(entry->key(), entry->value());
    if (digest.num_pairs() % kPairsBetweenUpdates == 0) {
      progress.Update(before.pairs + digest.num_pairs(), before.bytes + digest.bytes());
    }
  }
  WINNOW_RETURN_IF_ERROR(entry->status());
  return digest;
}

absl::Status CheckFamily(PeerReader& reader, const std::string& name, const PairDigest& expected) {
  PairDigest found;
  const std::unique_ptr<PeerCursor> cursor = reader.NewCursor(name);
  for (; cursor->Valid(); cursor->Next()) found.Add(cursor->key(), cursor->value());
  WINNOW_RETURN_IF_ERROR(cursor->status());
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "column family '%s': %d pairs (checksum %016x) were written, %d (checksum %016x) are read",
      name, expected.num_pairs(), expected.checksum(), found.num_pairs(), found.checksum()));
}

// Makes room for a new database: what an interrupted export from here has left goes, and nothing
// else. On OK the marker is there.
absl::Status PrepareTarget(const Peer& peer, const std::string& target,
                           const UnfinishedMarker& marker) {
  FileSystem& files = *PosixFileSystem();
  WINNOW_RETURN_IF_ERROR(files.CreateDirectories(target));
  WINNOW_ASSIGN_OR_RETURN(const bool is_left_over, marker.Exists());
  if (is_left_over) return peer.destroy(target);
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(target));
  if (!names.empty()) {
    return absl::AlreadyExistsError(
        absl::StrCat(target, " is not empty: export into a new directory"));
  }
  return marker.Write();
}

// The families' pairs as they were written, each family with its name there.
using WrittenFamilies = std::vector<std::pair<std::string, PairDigest>>;

absl::StatusOr<WrittenFamilies> WriteFamilies(DB& db, const std::vector<ColumnFamily*>& families,
                                              const Peer& peer, const std::string& target,
                                              Progress& progress) {
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<PeerWriter> writer, peer.create(target));
  WrittenFamilies written;
  WrittenAmount amount;
  for (ColumnFamily* family : families) {
    const std::string name = NameInPeer(*family, families.size() == 1);
    WINNOW_ASSIGN_OR_RETURN(const PairDigest digest,
                            WriteFamily(db, family, name, *writer, progress, amount));
    amount.pairs += digest.num_pairs();
    amount.bytes += digest.bytes();
    written.emplace_back(name, digest);
  }
  WINNOW_RETURN_IF_ERROR(writer->Finish());
  return written;
}

absl::Status CheckFamilies(const Peer& peer, const std::string& target,
                           const WrittenFamilies& written) {
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<PeerReader> reader, peer.open(target));
  for (const auto& [name, digest] : written) {
    WINNOW_RETURN_IF_ERROR(CheckFamily(*reader, name, digest));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> ExportToPeer(const Arguments& arguments, const Peer& peer,
                                      Output& output) {
  if (arguments.positionals().empty()) {
    return absl::InvalidArgumentError("name the directory of the new database");
  }
  const std::string& target = arguments.positionals()[0];
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<ColumnFamily*> families,
                          FamiliesToWrite(arguments, opened, peer));
  const std::string source = DatabasePath(arguments).value();
  // With the engine's name, since only that engine knows which files of the copy are its own.
  const UnfinishedMarker marker(target, "EXPORT", "export",
                                absl::StrCat(CanonicalPath(source), " to ", ToAbsl(peer.name)));
  WINNOW_RETURN_IF_ERROR(PrepareTarget(peer, target, marker));
  Progress progress(0);
  absl::StatusOr<WrittenFamilies> written =
      WriteFamilies(*opened.db, families, peer, target, progress);
  absl::Status finished = written.status();
  if (finished.ok()) finished = CheckFamilies(peer, target, *written);
  if (finished.ok()) finished = marker.Remove();
  progress.Clear();
  if (!finished.ok()) {
    return WithContext(finished,
                       absl::StrCat(target, " is not whole; the same command begins it anew"));
  }
  uint64_t pairs = 0;
  Json list = Json::array();
  for (const auto& [name, digest] : *written) {
    pairs += digest.num_pairs();
    Json family = Json::object();
    AddBytes(&family, "name", name, /*hex=*/false);
    family["entries"] = digest.num_pairs();
    family["checksum"] = absl::StrFormat("%016x", digest.checksum());
    list.push_back(std::move(family));
  }
  const double seconds = progress.seconds();
  const uint64_t rate = PerSecond(pairs, seconds);
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"families", std::move(list)},
                             {"entries", pairs},
                             {"seconds", seconds},
                             {"entries_per_second", rate}}));
  } else {
    Complain("export", absl::StrFormat(
                           "%s of %s in %s: %s entries/s; read again and compared: the same",
                           report::HumanCount(pairs, "entry", "entries"),
                           report::HumanCount(families.size(), "column family", "column families"),
                           report::HumanSeconds(seconds), report::HumanCount(rate)));
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunExport(const Arguments& arguments, Output& output) {
  const std::string to = arguments.Text("to").value_or("tsv");
  if (to != "tsv" && to != "jsonl") {
    const absl::StatusOr<Peer> peer = FindPeer(to);
    if (absl::IsInvalidArgument(peer.status())) {
      return absl::InvalidArgumentError(
          absl::StrCat("--to=", to, ": write tsv, jsonl, leveldb or rocksdb"));
    }
    if (!peer.ok()) return peer.status();
    return ExportToPeer(arguments, *peer, output);
  }
  if (!arguments.positionals().empty()) {
    return absl::InvalidArgumentError("text goes to standard output: winnow export ... > FILE");
  }
  WINNOW_ASSIGN_OR_RETURN(const OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  const PairFormat format{.json = to == "jsonl", .form = PrintedForm(arguments)};
  return ExportText(opened, format, output);
}

}  // namespace

Command ExportCommand() {
  return {
      .name = "export",
      .positionals = {"[DIR]", 0, 1},
      .summary = "write a database as text, or as a LevelDB or RocksDB database",
      .details = R"(
--to=tsv and --to=jsonl print one column family to standard output, in the forms that
`winnow load` reads back. --to=rocksdb makes a RocksDB database in DIR with every column
family, or with that of --family as its only one; --to=leveldb takes one column family. The
new database is then read and the number and a checksum of all pairs are compared. DIR must
be missing or empty; an export that was interrupted begins anew when the command is given
again.)",
      .json = R"(
{"families":[{"name":NAME,"entries":N,"checksum":HEX},...],"entries":N,"seconds":S,
    "entries_per_second":R}, for leveldb and rocksdb)",
      .examples = R"(
  winnow export --db=/tmp/fruit > fruit.tsv
  winnow export --db=/tmp/fruit --to=jsonl | gzip > fruit.jsonl.gz
  winnow export --db=/tmp/fruit --to=rocksdb /tmp/fruit.rocksdb)",
      .flags = {{"to", "FORM", "tsv (default), jsonl, leveldb or rocksdb"}},
      .run = RunExport,
  };
}

}  // namespace winnow::cli
