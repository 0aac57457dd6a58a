// Runs the program as people do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/shell_command.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/key_shape.h"
#include "tools/winnow_bench/process.h"
#include "tools/winnow_bench/round.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Outcome = ShellResult;  // stdout, then stderr

class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    std::string name = ::testing::TempDir() + "winnow_bench_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~RunTest() override { std::filesystem::remove_all(directory_); }

  Outcome Run(const std::string& flags) {
    const std::string errors = directory_ + "/stderr";
    const std::string command = std::string(WINNOW_BENCH_PROGRAM) + " --db=" + directory_ + "/db " +
                                flags + " 2>" + errors + " </dev/null";
    Outcome outcome = RunShellCommand(command);
    std::ifstream file(errors);
    outcome.output.append(std::istreambuf_iterator<char>(file), {});
    return outcome;
  }

  nlohmann::json ReadJson(const std::string& name) {
    std::ifstream file(directory_ + "/" + name);
    return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  }

  static std::string AllEngines() {
    std::string list;
    for (std::string_view engine : CompiledEngines()) list += std::string(engine) + ",";
    return list;
  }

  std::string directory_;
};

bool IsCompiled(std::string_view engine) {
  const std::vector<std::string_view> engines = CompiledEngines();
  return std::find(engines.begin(), engines.end(), engine) != engines.end();
}

// The result lines of `output` by benchmark; people's scripts match this form.
std::map<std::string, std::smatch> ResultLines(const std::string& output) {
  static const std::regex kLine(
      R"(^(\S+)\s+:\s+([\d.]+) micros/op (\d+) ops/sec ([\d.]+) seconds (\d+) operations;)"
      R"((?: +([\d.]+) MB/s)?(?: \((\d+) of (\d+) found\))?$)",
      std::regex::multiline);
  std::map<std::string, std::smatch> lines;
  for (std::sregex_iterator it(output.begin(), output.end(), kLine), end; it != end; ++it) {
    lines[(*it)[1]] = *it;
  }
  return lines;
}

class EveryEngineTest : public RunTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryEngineTest, RunsEveryBenchmarkAndPrintsDbBenchsLines) {
  // LevelDB's interface has none of these, and the others are not asked for theirs (see below).
  const bool has_more_writes = GetParam() == "winnow" || GetParam().starts_with("rocksdb");
  const auto is_left_out = [&](const Workload& workload) {
    const std::set<std::string_view> more = {"mergerandom", "deleterange", "ingest"};
    // Where RocksDB has transactions it deletes no ranges.
    // There is no trace here to be replayed.
    return workload.name == "replay" || workload.has_transactions ||
           (!has_more_writes && more.contains(workload.name));
  };
  std::string benchmarks = "fillrandom";
  for (const Workload& workload : Workloads()) {
    if (workload.kind == WorkloadKind::kFill || is_left_out(workload)) continue;
    benchmarks += "," + std::string(workload.name);
  }
  benchmarks += ",fillsync,fillseq";
  if (has_more_writes) benchmarks += ",mergerandom,ingest";
  const Outcome outcome = Run("--engine=" + GetParam() +
                              " --num=2000 --threads=2 --seek_nexts=3 --benchmarks=" + benchmarks);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto lines = ResultLines(outcome.output);
  for (const Workload& workload : Workloads()) {
    if (workload.kind == WorkloadKind::kReport || is_left_out(workload)) continue;
    EXPECT_TRUE(lines.contains(std::string(workload.name))) << workload.name << outcome.output;
  }
}

TEST_P(EveryEngineTest, FindsEveryPresentKeyAndNoAbsentOne) {
  for (const char* fill : {"fillrandom", "fillseq"}) {
    const Outcome outcome = Run(
        "--engine=" + GetParam() + " --num=3000 --threads=3 --batch_size=7 --benchmarks=" + fill +
        ",readrandom,readmissing,flush,multireadrandom,multireadmissing,compact," +
        "seekrandom,readseq,readreverse --reads=3000 --multiread_batch=10");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    auto lines = ResultLines(outcome.output);
    EXPECT_EQ(lines[fill][5], "3000");
    for (const char* name : {"readrandom", "multireadrandom", "seekrandom"}) {
      EXPECT_EQ(lines[name][7], "9000") << name << outcome.output;
    }
    for (const char* name : {"readmissing", "multireadmissing"}) {
      EXPECT_EQ(lines[name][7], "0") << name << outcome.output;
      EXPECT_EQ(lines[name][8], "9000") << name;
    }
    for (const char* name : {"readseq", "readreverse"}) EXPECT_EQ(lines[name][5], "9000") << name;
  }
}

TEST_P(EveryEngineTest, DeletedKeysAreGone) {
  const Outcome outcome =
      Run("--engine=" + GetParam() +
          " --num=2000 --benchmarks=fillrandom,deleterandom,readrandom,readseq");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  auto lines = ResultLines(outcome.output);
  EXPECT_EQ(lines["readrandom"][7], "0") << outcome.output;
  EXPECT_EQ(lines["readseq"][5], "0") << outcome.output;
}

TEST_F(RunTest, TransactionsOfBothKindsAndIngestedTablesAreReadBack) {
  const std::string engines = "," + AllEngines() + ",";
  for (const std::string engine : {"winnow", "rocksdb"}) {
    if (engines.find("," + engine + ",") == std::string::npos) continue;
    for (const std::string kind : {"optimistic", "pessimistic"}) {
      const Outcome outcome =
          Run("--engine=" + engine + " --transactions=" + kind + " --num=2000 --reads=500" +
              " --threads=3 --target_file_size=64K --benchmarks=ingest,txnrandom,readseq");
      ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
      auto lines = ResultLines(outcome.output);
      EXPECT_EQ(lines["ingest"][5], "2000") << outcome.output;
      EXPECT_EQ(lines["txnrandom"][5], "1500") << outcome.output;
      EXPECT_EQ(lines["txnrandom"][7], "6000") << "each reads four keys, which are there";
      EXPECT_EQ(lines["readseq"][5], "1500") << outcome.output;
      EXPECT_FALSE(std::filesystem::exists(directory_ + "/db/" + engine + ".tables"));
    }
  }
  const Outcome refused = Run("--num=100 --transactions=hopeful --benchmarks=fillseq,txnrandom");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.output, HasSubstr("hopeful"));
}

TEST_F(RunTest, DeletedRangesAreGoneWhereAnEngineHasThem) {
  const std::string engines = "," + AllEngines() + ",";
  for (const std::string engine : {"winnow", "rocksdb"}) {
    if (engines.find("," + engine + ",") == std::string::npos) continue;
    const Outcome outcome = Run("--engine=" + engine + " --num=2000 --deletes=500" +
                                " --benchmarks=fillrandom,deleterange,readseq");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(ResultLines(outcome.output)["readseq"][5], "1500") << outcome.output;
  }
  if (engines.find(",leveldb,") == std::string::npos) return;
  const Outcome refused = Run("--engine=leveldb --num=2000 --benchmarks=fillrandom,deleterange");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.output, HasSubstr("no range deletions"));
}

TEST_P(EveryEngineTest, AFillStartsFromAnEmptyDatabaseUnlessToldToKeepIt) {
  const std::string engine = "--engine=" + GetParam();
  ASSERT_EQ(Run(engine + " --num=2000 --benchmarks=fillseq").exit_code, 0);
  Outcome outcome =
      Run(engine + " --num=1000 --benchmarks=fillseq,readseq --use_existing_db" + " --reads=5000");
  EXPECT_EQ(ResultLines(outcome.output)["readseq"][5], "2000") << outcome.output;
  outcome = Run(engine + " --num=1000 --benchmarks=fillseq,readseq --reads=5000");
  EXPECT_EQ(ResultLines(outcome.output)["readseq"][5], "1000") << outcome.output;
}

TEST_P(EveryEngineTest, ADurationEndsARandomBenchmark) {
  const Outcome outcome = Run("--engine=" + GetParam() +
                              " --num=1000 --reads=1 --duration=1"
                              " --benchmarks=fillrandom,readrandom");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const std::smatch line = ResultLines(outcome.output)["readrandom"];
  EXPECT_GT(std::stod(line[5]), 1) << outcome.output;
  EXPECT_GE(std::stod(line[4]), 1) << outcome.output;
}

TEST_P(EveryEngineTest, ReadingWithoutADatabaseIsAClearError) {
  const Outcome outcome = Run("--engine=" + GetParam() + " --benchmarks=readrandom --num=1000");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("there is no database in"));
}

TEST_P(EveryEngineTest, APathThatIsAFileIsAClearError) {
  std::ofstream(directory_ + "/db") << "no directory";
  const Outcome outcome = Run("--engine=" + GetParam() + " --num=1000");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("winnow_bench: " + GetParam()));
}

TEST_P(EveryEngineTest, HistogramsGivePercentiles) {
  const Outcome outcome = Run("--engine=" + GetParam() + " --num=2000 --histogram --statistics" +
                              " --benchmarks=fillrandom,readrandom --json=" + directory_ + "/r");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Microseconds per write:\nCount: 2000 "));
  EXPECT_THAT(outcome.output, HasSubstr("Microseconds per read:\nCount: 2000 "));
  EXPECT_THAT(outcome.output, HasSubstr("STATISTICS:"));
  const nlohmann::json json = ReadJson("r");
  for (const nlohmann::json& result : json["results"]) {
    EXPECT_LE(result["p50_us"], result["p99_us"]);
    EXPECT_LE(result["p99_us"], result["p999_us"]);
    EXPECT_LE(result["p999_us"], result["max_us"]);
  }
}

// Look-ups, absent keys and a scan in order are what they were with db_bench's keys.
TEST_P(EveryEngineTest, KeysOfEveryShapeAreFoundAndAbsentOnesAreNot) {
  for (const KeyShapeName& shape : KeyShapes()) {
    const Outcome outcome =
        Run("--engine=" + GetParam() + " --key_shape=" + std::string(shape.name) +
            " --num=1000 --batch_size=3 --benchmarks=fillrandom,flush,readrandom,readmissing," +
            "multireadrandom,seekrandom,readseq,ycsbe");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    auto lines = ResultLines(outcome.output);
    EXPECT_EQ(lines["readrandom"][7], "1000") << outcome.output;
    EXPECT_EQ(lines["readmissing"][7], "0") << outcome.output;
    EXPECT_EQ(lines["multireadrandom"][7], "1024") << outcome.output;
    EXPECT_EQ(lines["seekrandom"][7], "1000") << outcome.output;
    EXPECT_EQ(lines["readseq"][5], "1000") << outcome.output;
  }
}

TEST_P(EveryEngineTest, ResultsSayWhatWritesSurvive) {
  const Outcome outcome = Run("--engine=" + GetParam() + " --num=2000 --json=" + directory_ +
                              "/r --benchmarks=fillrandom,readrandom,fillsync");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json results = ReadJson("r")["results"];
  const std::string where = GetParam() == "lmdb" ? "copy on write" : "log";
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["durability"], where + ", unsynced");
  EXPECT_TRUE(results[1]["durability"].is_null()) << "it wrote nothing";
  EXPECT_EQ(results[2]["durability"], where + ", synced");
  EXPECT_THAT(outcome.output, HasSubstr("Writes: " + where + ", unsynced\n"));
}

// tools/dev perf reads the engines' names from --help.
TEST_P(EveryEngineTest, ItsTitleBeginsWithItsName) {
  EXPECT_TRUE(EngineTitle(GetParam()).starts_with(GetParam() + " ")) << EngineTitle(GetParam());
  EXPECT_THAT(Run("--help").output, HasSubstr("\n  " + EngineTitle(GetParam()) + "\n"));
}

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  for (std::string_view engine : CompiledEngines()) names.emplace_back(engine);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Engines, EveryEngineTest, ::testing::ValuesIn(EngineNames()),
                         [](const auto& test) { return test.param; });

TEST_F(RunTest, TheSameRoundAsksEveryEngineTheSame) {
  const Outcome outcome = Run("--engine=" + AllEngines() + " --num=2000 --reads=700 --rounds=2 " +
                              "--benchmarks=fillrandom,ycsba,ycsbd,deleterandom,readrandom " +
                              "--deletes=500 --json=" + directory_ + "/r");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json json = ReadJson("r");
  std::map<std::string, nlohmann::json> first;
  for (const nlohmann::json& result : json["results"]) {
    const std::string key = result["benchmark"].get<std::string>() + result["round"].dump();
    const auto [known, added] = first.emplace(key, result);
    EXPECT_EQ(known->second["ops"], result["ops"]);
    EXPECT_EQ(known->second["found"], result["found"]) << result;
  }
  EXPECT_NE(first["readrandom1"]["found"], first["readrandom2"]["found"]) << "rounds must differ";
}

void ExpectFields(const nlohmann::json& json, const std::vector<const char*>& names) {
  for (const char* name : names) EXPECT_TRUE(json.contains(name)) << name;
  EXPECT_EQ(json.size(), names.size()) << json;
}

TEST_F(RunTest, TheJsonFileHasItsSchema) {
  const Outcome outcome =
      Run("--engine=" + AllEngines() + " --num=2000 --rounds=2 --json=" + directory_ + "/r.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json json = ReadJson("r.json");
  ASSERT_TRUE(json.is_object());
  ExpectFields(json, {"tool", "title", "machine", "config", "results", "ratios"});
  EXPECT_EQ(json["tool"], "winnow_bench");
  ExpectFields(json["machine"], {"cpu", "num_cpus", "memory_bytes", "kernel", "os", "compiler"});
  EXPECT_EQ(json["config"]["num"], 2000);
  EXPECT_EQ(json["config"]["key_shape"], "db_bench");
  const size_t engines = CompiledEngines().size();
  EXPECT_EQ(json["results"].size(), 4 * 2 * engines);
  for (const nlohmann::json& result : json["results"]) {
    ExpectFields(
        result,
        {"engine",      "filter",           "benchmark",     "round",      "threads",
         "ops",         "ops_per_sec",      "micros_per_op", "p50_us",     "p99_us",
         "p999_us",     "max_us",           "open_us",       "bytes_read", "bytes_written",
         "read_ops",    "data_blocks_read", "found",         "durability", "write_amplification",
         "space_bytes", "peak_rss_bytes"});
    EXPECT_EQ(result["open_us"].is_null(), result["benchmark"] != "fillrandom") << "once a round";
    ExpectFields(result["filter"],
                 {"spec", "checked", "rejected", "true_positive", "false_positive", "fpr",
                  "promised_fpr", "bytes", "bits_per_key"});
    EXPECT_GT(result["ops_per_sec"], 0);
    EXPECT_GT(result["peak_rss_bytes"], 0);
    EXPECT_GT(result["space_bytes"], 0);
    EXPECT_TRUE(result["p50_us"].is_null());
  }
  EXPECT_EQ(json["ratios"].size(), 3 * (engines - 1));
  for (const nlohmann::json& ratio : json["ratios"]) {
    ExpectFields(ratio, {"benchmark", "engine", "against", "ratio"});
  }
}

TEST_F(RunTest, SeveralEnginesEndInOneTableOfMedians) {
  const Outcome outcome =
      Run("--engine=" + AllEngines() + " --num=2000 --rounds=3 --warmup=1 --reads=500");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Medians of 3 rounds, 1 thread\n"));
  EXPECT_THAT(outcome.output, HasSubstr("Round:  3 of 3"));
  EXPECT_EQ(outcome.output.find('\r'), std::string::npos) << "progress belongs on a terminal";
}

TEST_F(RunTest, OneEngineRunsWithSeveralFiltersAndMakesAPage) {
  if (!IsCompiled("rocksdb")) GTEST_SKIP() << "no RocksDB in this build";
  const std::string flags = "--engine=rocksdb@rocksdb.bloom:10,rocksdb@cuckoo:1% --num=20000 " +
                            std::string("--statistics --benchmarks=fillrandom,compact,readmissing");
  const std::string page = directory_ + "/r.html";
  const Outcome outcome = Run(flags + " --json=" + directory_ + "/r.json --report=" + page);
  if (outcome.output.find("has only RocksDB's own filters") != std::string::npos) {
    GTEST_SKIP() << "no filter policy in this build";
  }
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json json = ReadJson("r.json");
  ASSERT_EQ(json["results"].size(), 6u);
  const nlohmann::json& cuckoo = json["results"][5];
  EXPECT_EQ(cuckoo["engine"], "rocksdb@cuckoo:1%");
  EXPECT_EQ(cuckoo["filter"]["spec"], "cuckoo:1%");
  EXPECT_GT(cuckoo["filter"]["rejected"], 19'000);
  EXPECT_LT(cuckoo["filter"]["fpr"], 0.015);

  const auto read_page = [&page] {
    std::ifstream file(page);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string written = read_page();
  EXPECT_THAT(written, HasSubstr("<svg"));
  EXPECT_THAT(written, HasSubstr("rocksdb@cuckoo:1%"));
  EXPECT_EQ(written.find("http"), std::string::npos) << "the page must stand alone";
  EXPECT_EQ(written.find("nan"), std::string::npos);

  const Outcome again = Run("--from_json=" + directory_ + "/r.json --report=" + page);
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("readmissing"));
  EXPECT_EQ(read_page(), written) << "saved results make the same page";
  EXPECT_EQ(Run("--from_json=/nonexistent.json").exit_code, 1);
  EXPECT_EQ(Run("--from_json=" + directory_).exit_code, 1);
  std::ofstream(directory_ + "/other.json") << "{\"results\": [{\"ops\": \"many\"}]}";
  EXPECT_EQ(Run("--from_json=" + directory_ + "/other.json").exit_code, 1);
}

TEST_F(RunTest, AWrongCommandLineExitsWithTwo) {
  for (const char* flags :
       {"--benchmark=fillseq", "--num=x", "--engine=nothing", "--benchmarks=fill", "fillseq",
        "--benchmarks=replay", "--replay=t --benchmarks=fillseq", "--from_json=a --json=b"}) {
    const Outcome outcome = Run(flags);
    EXPECT_EQ(outcome.exit_code, 2) << flags;
    EXPECT_THAT(outcome.output, HasSubstr("winnow_bench: ")) << flags;
  }
}

TEST_F(RunTest, AFailingEngineOrFileExitsWithOne) {
  const std::string engine = "--engine=winnow";
  EXPECT_EQ(Run(engine + " --num=1000 --json=/nonexistent/r.json").exit_code, 1);
  const Outcome outcome = Run(engine + " --num=1000 --filter=sieve:10");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("sieve"));
}

// The engine is refused where it would have to be measured without what it was asked for.
TEST_F(RunTest, WhatABTreeDoesNotHaveIsAClearError) {
  for (std::string_view engine : {"lmdb", "wiredtiger"}) {
    if (!IsCompiled(engine)) continue;
    const std::string flags = "--num=100 --benchmarks=fillseq --engine=" + std::string(engine);
    const Outcome filtered = Run(flags + "@bloom:10");
    EXPECT_EQ(filtered.exit_code, 1);
    EXPECT_THAT(filtered.output, HasSubstr("leave out \"@bloom:10\""));
    EXPECT_EQ(Run(flags + " --filter=cuckoo:12").exit_code, 0) << "the filter is for others";
    const Outcome unlogged = Run(flags + " --disable_wal");
    EXPECT_EQ(unlogged.exit_code, engine == "lmdb" ? 0 : 1) << "LMDB has no log to leave out";
  }
}

TEST_F(RunTest, RocksDbRunsAsItComesAndTunedInOneComparison) {
  if (!IsCompiled("rocksdb")) GTEST_SKIP() << "no RocksDB in this build";
  // In a cache that holds everything, and outside of one, where it maps its tables.
  for (const char* cache : {" --cache_size=64M", " --cache_size=64K"}) {
    const Outcome outcome =
        Run("--engine=rocksdb --rocksdb_tuned --num=3000 --compression_type=none" +
            std::string(" --benchmarks=fillrandom,readrandom,flush,readrandom,compact,readrandom") +
            ",readmissing,seekrandom --json=" + directory_ + "/r" + cache);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const nlohmann::json json = ReadJson("r");
    EXPECT_EQ(json["config"]["engine"], "rocksdb,rocksdb_tuned");
    ASSERT_EQ(json["results"].size(), 16u);
    for (size_t i = 0; i < 8; i++) {
      EXPECT_EQ(json["results"][i]["engine"], "rocksdb");
      EXPECT_EQ(json["results"][i + 8]["engine"], "rocksdb_tuned");
      EXPECT_EQ(json["results"][i]["found"], json["results"][i + 8]["found"]);
      EXPECT_EQ(json["results"][i + 8]["filter"]["spec"], "rocksdb.bloom:10");
    }
  }
}

// A B-tree's file is sparse, or filled in place: what it takes on the disk counts.
TEST_F(RunTest, ASparseFileTakesTheSpaceThatItsBytesTake) {
  std::ofstream(directory_ + "/sparse") << "a few bytes";
  std::filesystem::resize_file(directory_ + "/sparse", uint64_t{1} << 30);
  EXPECT_LT(DirectoryBytes(directory_), uint64_t{1} << 20);
}

// RocksDB's tells of each flush in more bytes than a small memtable has.
TEST_F(RunTest, AnInfoLogIsNoData) {
  std::ofstream(directory_ + "/000001.log") << "12345";
  std::ofstream(directory_ + "/LOG") << "1234567";
  std::ofstream(directory_ + "/LOG.old.1") << "123";
  EXPECT_EQ(DirectoryBytes(directory_), 5u);
  EXPECT_EQ(InfoLogBytes(directory_), 10u);
}

TEST_F(RunTest, AnEmptyTmpdirIsNone) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "", 1);
  EXPECT_THAT(EngineDirectory(BenchConfig(), "winnow"), StartsWith("/tmp/winnow_bench-"));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

EngineSettings SettingsFor(const std::string& directory) {
  EngineSettings settings;
  settings.directory = directory;
  settings.cache_bytes = 1 << 20;
  settings.write_buffer_bytes = 1 << 20;
  settings.block_bytes = 4096;
  settings.filter = "none";
  settings.filter_key = "whole";
  settings.compression = "none";
  return settings;
}

TEST_F(RunTest, ACursorBetweenBoundsStaysThere) {
  for (const std::string engine : {"winnow", "rocksdb"}) {
    if (!IsCompiled(engine)) continue;
    auto opened = OpenEngine(engine, SettingsFor(directory_ + "/" + engine));
    ASSERT_TRUE(opened.ok()) << opened.status();
    auto session = (*opened)->NewSession({});
    ASSERT_TRUE(session.ok()) << session.status();
    for (const char* key : {"a", "b", "c", "d"}) (*session)->Put(key, "value");
    const auto cursor = (*session)->NewCursorBetween(std::string("b"), std::string("d"));
    cursor->SeekToFirst();
    EXPECT_TRUE(cursor->StandsOn("b")) << engine;
    uint64_t bytes = 0;
    EXPECT_EQ(cursor->Walk(10, Direction::kForward, &bytes), 2u) << engine;
  }
}

// Four runs, each so much larger than the next that universal compaction leaves them: it calls
// itself pending all the same.
TEST_F(RunTest, WaitingForUniversalCompactionEnds) {
  if (!IsCompiled("rocksdb")) GTEST_SKIP() << "no RocksDB in this build";
  const std::string flags = "--engine=rocksdb --compaction=tiered --compression_type=none" +
                            std::string(" --use_existing_db --benchmarks=fillrandom,flush");
  for (const char* num : {"800", "400", "200"}) {
    ASSERT_EQ(Run(flags + " --num=" + num).exit_code, 0);
  }
  const Outcome outcome = Run(flags + ",waitforcompaction --num=100");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_TRUE(ResultLines(outcome.output).contains("waitforcompaction")) << outcome.output;
}

// On a terminal the progress is written all the time.
TEST_F(RunTest, WhatIsPrintedMeanwhileIsNoCompactionOfLevelDbs) {
  if (!IsCompiled("leveldb")) GTEST_SKIP() << "no LevelDB in this build";
  auto engine = OpenEngine("leveldb", SettingsFor(directory_ + "/db"));
  ASSERT_TRUE(engine.ok()) << engine.status();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::atomic<bool> is_done{false};
  std::thread printer([&] {
    std::ofstream nowhere("/dev/null");
    while (!is_done && Clock::now() - start < std::chrono::seconds(10)) {
      nowhere << "progress" << std::flush;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_TRUE((*engine)->WaitForCompactions().ok());
  const Clock::duration took = Clock::now() - start;
  is_done = true;
  printer.join();
  EXPECT_LT(took, std::chrono::seconds(8));
  EXPECT_GE(took, (*engine)->IdleTimeOfWait());
}

// Which flag reached RocksDB and LevelDB alone.
TEST_F(RunTest, WinnowKeepsAsManyTablesOpenAsIsSaid) {
  EngineSettings settings = SettingsFor(directory_ + "/db");
  settings.open_files = 20;
  settings.disable_auto_compactions = true;
  auto engine = OpenEngine("winnow", settings);
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto session = (*engine)->NewSession({});
  ASSERT_TRUE(session.ok()) << session.status();
  for (int i = 0; i < 30; i++) {
    (*session)->Put("key", "value");
    ASSERT_TRUE((*engine)->Flush().ok());
  }
  const auto names_table = [](const auto& descriptor) {
    std::error_code gone;
    return std::filesystem::read_symlink(descriptor, gone).extension() == ".sst";
  };
  std::filesystem::directory_iterator descriptors("/proc/self/fd");
  EXPECT_EQ(std::count_if(begin(descriptors), end(descriptors), names_table), 20);
}

TEST_F(RunTest, WhatCannotBePrintedIsAnError) {
  const std::string engine = "--engine=" + std::string(CompiledEngines().back());
  for (const std::string& flags :
       {std::string("--help"), engine + " --num=100 --benchmarks=fillseq"}) {
    const Outcome outcome = Run(flags + " >/dev/full");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, HasSubstr("cannot write standard output"));
  }
}

TEST_F(RunTest, AReaderThatHasGoneIsNoCrash) {
  const std::string engine = "--engine=" + std::string(CompiledEngines().back());
  const std::string errors = directory_ + "/errors";
  // head ends at once: what is printed after its first byte meets a pipe without a reader.
  Run(engine + " --num=100 --benchmarks=fillseq 2>" + errors + " | head -c 1");
  std::ifstream file(errors);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "");
}

TEST_F(RunTest, HelpTeaches) {
  const Outcome outcome = Run("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("winnow_bench --engine=winnow,rocksdb,leveldb"));
  for (const KeyShapeName& shape : KeyShapes()) {
    EXPECT_THAT(outcome.output, HasSubstr("\n  " + std::string(shape.name) + " "));
  }
}

}  // namespace
}  // namespace winnow::bench
