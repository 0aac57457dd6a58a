// winnow import and export, with databases that LevelDB and RocksDB themselves wrote and read.
#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "tests/tools/winnow_cli_shell.h"
#include "tools/peer/open_peer_database.h"

namespace winnow {
namespace {

using Pairs = std::map<std::string, std::string>;

// Keys and values of any bytes, the empty ones among them.
Pairs RandomPairs(size_t count) {
  std::mt19937_64 random(7);
  const auto bytes = [&random](size_t most) {
    std::string text(random() % (most + 1), '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  };
  Pairs pairs = {{"", "the empty key"}, {"no value", ""}};
  while (pairs.size() < count) pairs[bytes(20)] = bytes(200);
  return pairs;
}

void WriteLevelDb(const std::string& path, const Pairs& pairs) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, path, &opened).ok());
  const std::unique_ptr<leveldb::DB> db(opened);
  for (const auto& [key, value] : pairs) {
    ASSERT_TRUE(db->Put(leveldb::WriteOptions(), key, value).ok());
  }
}

Pairs ReadLevelDb(const std::string& path) {
  Pairs pairs;
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(leveldb::Options(), path, &opened);
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (!status.ok()) return pairs;
  const std::unique_ptr<leveldb::DB> db(opened);
  const std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    pairs[it->key().ToString()] = it->value().ToString();
  }
  return pairs;
}

rocksdb::Status OpenRocksDb(const rocksdb::Options& options, const std::string& path,
                            std::unique_ptr<rocksdb::DB>* db) {
  const auto open = [&](auto* opened) -> decltype(rocksdb::DB::Open(options, path, opened)) {
    return rocksdb::DB::Open(options, path, opened);
  };
  return OpenPeerDatabase(db, open);
}

std::string First(const std::string& output) { return output.substr(0, output.find('\n')); }

TEST(WinnowCliImport, LevelDbThereAndBackGivesTheSamePairs) {
  const ScratchShell shell;
  const Pairs pairs = RandomPairs(20000);
  WriteLevelDb(shell.directory() + "/source", pairs);
  ShellResult result = shell.Run("winnow import --from=leveldb source --db=db --filter=cuckoo:1%");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("20,000 entries"), std::string::npos) << result.output;
  EXPECT_EQ(shell.RunForOutput("winnow count --db=db").output, "20000\n");
  EXPECT_EQ(shell.RunForOutput("winnow property filter --db=db").output, "cuckoo:1%\n");
  EXPECT_EQ(shell.Run("winnow verify --db=db").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(shell.directory() + "/db/IMPORT"));

  result = shell.Run("winnow export --db=db --to=leveldb copy");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ReadLevelDb(shell.directory() + "/copy"), pairs);
  EXPECT_EQ(shell.Run("winnow export --db=db --to=leveldb copy").exit_code, 3) << "it exists";
}

TEST(WinnowCliImport, RocksDbThereAndBackWithItsColumnFamilies) {
  const ScratchShell shell;
  const std::string source = shell.directory() + "/source";
  const Pairs pairs = RandomPairs(5000);
  {
    rocksdb::Options options;
    options.create_if_missing = true;
    std::unique_ptr<rocksdb::DB> db;
    ASSERT_TRUE(OpenRocksDb(options, source, &db).ok());
    rocksdb::ColumnFamilyHandle* people = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily(options, "people", &people).ok());
    for (const auto& [key, value] : pairs) {
      ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), key, value).ok());
    }
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), people, "ann", "1").ok());
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(people).ok());
  }
  ShellResult result = shell.Run("winnow import --from=rocksdb source --db=db");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("5,001 entries of 2 column families"), std::string::npos)
      << result.output;
  EXPECT_EQ(shell.RunForOutput("winnow get ann --db=db --family=people").output, "1\n");

  result = shell.Run("winnow export --db=db --to=rocksdb copy");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  // The same pairs have the same checksums: import the copy and compare.
  const std::string first =
      shell.RunForOutput("winnow import --from=rocksdb source --db=a --json").output;
  const std::string second =
      shell.RunForOutput("winnow import --from=rocksdb copy --db=b --json").output;
  EXPECT_EQ(first.substr(0, first.find(",\"entries\":5001")),
            second.substr(0, second.find(",\"entries\":5001")));
  EXPECT_NE(first.find("\"verified\":true"), std::string::npos) << first;

  EXPECT_EQ(shell.Run("winnow export --db=db --to=leveldb one").exit_code, 2);
  result = shell.Run("winnow export --db=db --to=leveldb one --family=people");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ReadLevelDb(shell.directory() + "/one"), (Pairs{{"ann", "1"}}));
}

// What is left is known by the marker, and nothing else is ever removed.
TEST(WinnowCliImport, AnInterruptedExportBeginsAnew) {
  const ScratchShell shell;
  ASSERT_EQ(shell.Run("seq 1 1000 | sed 's/$/\tv/' | winnow load --db=db 2>/dev/null").exit_code,
            0);
  for (const std::string engine : {"leveldb", "rocksdb"}) {
    // Written over a limit on file sizes for LevelDB, which would be too little for RocksDB: there
    // a whole copy with the marker stands for one that is not whole.
    const std::string export_it = "winnow export --db=db --to=" + engine + " " + engine;
    if (engine == "leveldb") {
      const ShellResult cut = shell.Run("(ulimit -f 1; " + export_it + ")");
      EXPECT_EQ(cut.exit_code, 3) << cut.output;
      EXPECT_NE(cut.output.find("the same command begins it anew"), std::string::npos)
          << cut.output;
      EXPECT_EQ(shell.Run("sed s/leveldb/rocksdb/ leveldb/EXPORT > marker").exit_code, 0);
    } else {
      EXPECT_EQ(shell.Run(export_it + " && cp marker rocksdb/EXPORT").exit_code, 0);
    }
    EXPECT_EQ(shell.Run("echo mine > " + engine + "/notes").exit_code, 0);
    EXPECT_EQ(shell
                  .Run("winnow put k v --db=other && winnow export --db=other --to=" + engine +
                       " " + engine)
                  .exit_code,
              3)
        << "another source";
    const ShellResult again = shell.Run(export_it);
    EXPECT_EQ(again.exit_code, 0) << again.output;
    EXPECT_EQ(shell.Run("cat " + engine + "/notes; ls " + engine + "/EXPORT 2>/dev/null").output,
              "mine\n");
    const ShellResult whole = shell.Run(export_it);
    EXPECT_EQ(whole.exit_code, 3);
    EXPECT_NE(whole.output.find("is not empty"), std::string::npos) << whole.output;
  }
  EXPECT_EQ(ReadLevelDb(shell.directory() + "/leveldb").size(), 1000u);
}

TEST(WinnowCliImport, TextThatLoadReadsBack) {
  const ScratchShell shell;
  const Pairs pairs = RandomPairs(500);
  WriteLevelDb(shell.directory() + "/source", pairs);
  const ShellResult result = shell.Run(
      "winnow import --from=leveldb source --db=db 2>/dev/null &&"
      "winnow export --db=db > tsv && winnow load --db=from_tsv tsv 2>/dev/null &&"
      "winnow export --db=db --to=jsonl > jsonl &&"
      "winnow load --format=jsonl --db=from_jsonl jsonl 2>/dev/null &&"
      "winnow export --db=from_tsv | cmp - tsv && winnow export --db=from_jsonl | cmp - tsv &&"
      "winnow count --db=from_jsonl");
  EXPECT_EQ(result.output, "500\n");
}

TEST(WinnowCliImport, AnInterruptedImportGoesOnWhereItStopped) {
  const ScratchShell shell;
  const Pairs pairs = RandomPairs(200000);
  WriteLevelDb(shell.directory() + "/source", pairs);
  // Small SSTables, so that the killed import leaves some.
  const std::string import =
      "winnow import --from=leveldb source --db=db --set=target_file_bytes=256K";
  const ShellResult killed = shell.Run(
      import + " >/dev/null 2>&1 & pid=$!;" +
      "while kill -0 $pid 2>/dev/null && [ $(ls db/*.sst 2>/dev/null | wc -l) -lt 4 ]; do :; done;"
      "kill -9 $pid; wait $pid; ls db/IMPORT");
  ASSERT_EQ(killed.exit_code, 0) << "the import ended before it could be killed: " << killed.output;
  EXPECT_EQ(shell.Run("winnow import --from=leveldb copy --db=db").exit_code, 3);
  const ShellResult resumed = shell.Run(import);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_NE(resumed.output.find("were there already"), std::string::npos) << resumed.output;
  EXPECT_EQ(shell.RunForOutput("winnow count --db=db").output, std::to_string(pairs.size()) + "\n");
  EXPECT_EQ(shell.Run(import).exit_code, 3) << "the database holds entries now";
}

TEST(WinnowCliImport, ADamagedSourceIsAClearErrorAndItsBeginningIsKept) {
  const ScratchShell shell;
  const Pairs pairs = RandomPairs(50000);
  const std::string source = shell.directory() + "/source";
  WriteLevelDb(source, pairs);
  // The last table in key order, so that something can be read before the damage.
  ASSERT_EQ(shell.Run("winnow import --from=leveldb source --db=whole").exit_code, 0);
  std::string table;
  uintmax_t largest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source)) {
    if (entry.path().extension() != ".ldb" || entry.file_size() <= largest) continue;
    largest = entry.file_size();
    table = entry.path();
  }
  ASSERT_FALSE(table.empty());
  {
    std::fstream file(table, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(largest / 2));
    file.write("damage", 6);
  }
  const ShellResult result = shell.Run("winnow import --from=leveldb source --db=db");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_NE(result.output.find("Corruption"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("not finished"), std::string::npos) << First(result.output);
  // What is there is the beginning of the source, without a gap.
  const ShellResult compared = shell.Run(
      "winnow export --db=db > part && winnow export --db=whole > all &&"
      "head -c $(wc -c < part) all | cmp - part && test $(wc -c < part) -lt $(wc -c < all) &&"
      "test -s part");
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
}

TEST(WinnowCliImport, AKeyOverTheLimitIsAnErrorOfTheSource) {
  const ScratchShell shell;
  WriteLevelDb(shell.directory() + "/source",
               {{"a", "1"}, {std::string((size_t{1} << 20) + 1, 'k'), "v"}});
  const ShellResult result = shell.Run("winnow import --from=leveldb source --db=db");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_NE(result.output.find("over the limit"), std::string::npos) << result.output;
  EXPECT_EQ(shell.RunForOutput("winnow get a --db=db").output, "1\n");
}

TEST(WinnowCliImport, WrongUseIsNamed) {
  const ScratchShell shell;
  EXPECT_EQ(shell.Run("winnow import source --db=db").exit_code, 2);
  EXPECT_EQ(shell.Run("winnow import --from=berkeleydb source --db=db").exit_code, 2);
  const ShellResult missing = shell.Run("winnow import --from=leveldb nowhere --db=db; ls");
  EXPECT_NE(missing.output.find("cannot open nowhere"), std::string::npos) << missing.output;
  EXPECT_EQ(shell.Run("winnow import --from=rocksdb nowhere --db=db").exit_code, 3);
  EXPECT_EQ(shell.Run("test ! -e db").exit_code, 0) << "nothing was made";
  EXPECT_EQ(shell.Run("winnow put k v --db=db; winnow export --db=db --to=xml").exit_code, 2);
  EXPECT_EQ(shell.Run("winnow export --db=db file").exit_code, 2);
  EXPECT_EQ(shell.Run("winnow export --db=db --to=rocksdb").exit_code, 2);
}

// What the engines themselves wrote, and every command before it. Once repair moved LevelDB's
// manifest away, and destroy removed its log.
TEST(WinnowCliImport, ADatabaseOfAnotherEngineIsRefusedByEveryCommandAndLeftAsItIs) {
  const ScratchShell shell;
  WriteLevelDb(shell.directory() + "/leveldb", RandomPairs(1000));
  rocksdb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<rocksdb::DB> opened;
  ASSERT_TRUE(OpenRocksDb(options, shell.directory() + "/rocksdb", &opened).ok());
  ASSERT_TRUE(opened->Put(rocksdb::WriteOptions(), "k", "v").ok());
  ASSERT_TRUE(opened->Flush(rocksdb::FlushOptions()).ok());
  opened.reset();
  ASSERT_EQ(shell
                .Run("printf 'k\tv\n' > lines.tsv && winnow sst-build --out=table.sst lines.tsv && "
                     "winnow put k v --db=own && cp own/*.log log")
                .exit_code,
            0);
  const std::vector<std::string> commands = {"get k",
                                             "mget k",
                                             "put k v",
                                             "merge k 1 --set=merge_operator=max",
                                             "delete k",
                                             "load lines.tsv",
                                             "load --sorted lines.tsv",
                                             "ingest table.sst",
                                             "replay log",
                                             "scan",
                                             "count",
                                             "export",
                                             "export --to=leveldb new",
                                             "explain k",
                                             "stats",
                                             "plan --budget=64M",
                                             "compare --filters=bloom:10",
                                             "property estimate-num-keys",
                                             "options",
                                             "options --set=block_bytes=8K",
                                             "refilter --filter=cuckoo:12",
                                             "compact",
                                             "verify",
                                             "repair",
                                             "families",
                                             "families create more",
                                             "table list",
                                             "table create users info",
                                             "table get users ann",
                                             "shell -e list",
                                             "sst",
                                             "wal",
                                             "manifest",
                                             "checkpoint c",
                                             "backup b",
                                             "destroy --yes"};
  for (const std::string engine : {"leveldb", "rocksdb"}) {
    // Also of what is left without CURRENT and manifest.
    for (const char* removed : {"nothing", "CURRENT", "MANIFEST*"}) {
      ASSERT_EQ(
          shell.Run("rm -f " + engine + "/" + removed + "; rm -rf copy; cp -a " + engine + " copy")
              .exit_code,
          0);
      for (const std::string& command : commands) {
        const std::string directory = (command.starts_with("options") ? " " : " --db=") + engine;
        const ShellResult result = shell.Run("winnow " + command + directory);
        EXPECT_EQ(result.exit_code, 3) << command << ": " << result.output;
        EXPECT_NE(result.output.find("winnow import --from=" + engine), std::string::npos)
            << command << " without " << removed << ": " << result.output;
      }
      EXPECT_EQ(shell.Run("diff -r " + engine + " copy").output, "") << removed;
    }
  }
}

// The engines make what is missing where they look, and begin another LOG in whatever is there.
TEST(WinnowCliImport, LeavesAWrongSourceAsItIs) {
  const ScratchShell shell;
  const std::string root = shell.directory() + "/";
  WriteLevelDb(root + "leveldb", {{"k", "v"}});
  rocksdb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<rocksdb::DB> rocks;
  ASSERT_TRUE(OpenRocksDb(options, root + "rocksdb", &rocks).ok());
  ASSERT_TRUE(rocks->Put(rocksdb::WriteOptions(), "k", "v").ok());
  rocks.reset();
  ASSERT_EQ(shell.Run("winnow put k v --db=winnow && mkdir empty && echo text > file").exit_code,
            0);
  ASSERT_EQ(shell.Run("mkdir copies && cp -a leveldb rocksdb winnow empty file copies").exit_code,
            0);
  const std::string cases[][3] = {
      {"leveldb", "missing", "there is no such directory"},
      {"rocksdb", "missing", "there is no such directory"},
      {"leveldb", "empty", "there is no LevelDB database in it"},
      {"rocksdb", "empty", "there is no RocksDB database in it"},
      {"leveldb", "file", "it is a file, not a directory"},
      {"rocksdb", "file", "it is a file, not a directory"},
      {"leveldb", "winnow", "it holds a Winnow database"},
      {"rocksdb", "winnow", "it holds a Winnow database"},
      {"leveldb", "rocksdb", "it holds a RocksDB database: --from=rocksdb"},
      {"rocksdb", "leveldb", "it holds a LevelDB database: --from=leveldb"},
  };
  for (const auto& [engine, source, reason] : cases) {
    const ShellResult result =
        shell.Run("winnow import --from=" + engine + " " + source + " --db=new");
    EXPECT_EQ(result.exit_code, 3) << engine << " " << source << ": " << result.output;
    EXPECT_NE(result.output.find("cannot open " + source + ": " + reason), std::string::npos)
        << engine << ": " << result.output;
    EXPECT_FALSE(std::filesystem::exists(root + "missing")) << engine;
    EXPECT_FALSE(std::filesystem::exists(root + "new")) << engine << " " << source;
  }
  // Targets that are not new, likewise.
  for (const std::string engine : {"leveldb", "rocksdb"}) {
    for (const std::string target : {"leveldb", "rocksdb", "winnow", "file"}) {
      const ShellResult result =
          shell.Run("winnow export --db=winnow --to=" + engine + " " + target);
      EXPECT_NE(result.exit_code, 0) << target << ": " << result.output;
    }
  }
  EXPECT_EQ(
      shell.Run("for i in leveldb rocksdb winnow empty file; do diff -r $i copies/$i; done").output,
      "");
  // The right one is read.
  EXPECT_EQ(shell.Run("winnow import --from=leveldb leveldb --db=a").exit_code, 0);
  EXPECT_EQ(shell.Run("winnow import --from=rocksdb rocksdb --db=b").exit_code, 0);
}

}  // namespace
}  // namespace winnow
