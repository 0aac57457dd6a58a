// A recorded workload from beginning to end: DB::StartTrace, `winnow trace`, and `winnow compare`
// with its look-ups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/tools/winnow_cli_shell.h"
#include "winnow/db.h"

namespace winnow {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kNumKeys = 5000;
constexpr int kNumGets = 3000;
constexpr int kNumSeeks = 50;

// A database in `db` whose look-ups are in `whole.trace`, and their hashes in `hashed.trace`: each
// second one of a key that is there.
class WinnowCliWorkload : public testing::Test {
 protected:
  WinnowCliWorkload() { Record("db"); }

  void Record(const std::string& name) {
    Options options;
    options.create_if_missing = true;
    const auto db = *DB::Open(options, PathOf(name));
    for (int i = 0; i < kNumKeys; i++) Check(db->Put(WriteOptions(), KeyAt(2 * i), "v"));
    Check(db->CompactRange(std::nullopt, std::nullopt));
    for (const bool hashed : {false, true}) {
      TraceOptions trace;
      trace.hash_keys = hashed;
      Check(db->StartTrace(trace, PathOf(absl::StrCat(name == "db" ? "" : name,
                                                      hashed ? "hashed" : "whole", ".trace"))));
      std::string value;
      for (int i = 0; i < kNumGets; i++) (void)db->Get(ReadOptions(), KeyAt(i), &value);
      const auto iterator = db->NewIterator(ReadOptions());
      for (int i = 0; i < kNumSeeks; i++) iterator->Seek(KeyAt(i));
      Check(db->EndTrace().status());
    }
    Check(db->Close());
  }

  std::string PathOf(const std::string& name) const {
    return absl::StrCat(shell_.directory(), "/", name);
  }
  static std::string KeyAt(int i) { return absl::StrCat("key", 100000 + i); }
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  json Compare(const std::string& flags) {
    const ShellResult result = shell_.RunForOutput("winnow compare --db=db --json " + flags);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return json::parse(result.output, nullptr, false);
  }

  // A copy of `name` as `damaged.trace`, with one byte changed and the end cut off.
  void Damage(const std::string& name, int64_t flipped, uint64_t bytes_cut) const {
    std::ifstream in(PathOf(name), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (flipped >= 0) bytes[static_cast<size_t>(flipped)] ^= 1;
    bytes.resize(bytes.size() - bytes_cut);
    std::ofstream(PathOf("damaged.trace"), std::ios::binary) << bytes;
  }

  ScratchShell shell_;
};

TEST_F(WinnowCliWorkload, TraceCountsItsCalls) {
  for (const bool hashed : {false, true}) {
    const std::string name = hashed ? "hashed.trace" : "whole.trace";
    const ShellResult text = shell_.Run("winnow trace " + name);
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.output, HasSubstr("3,050 calls in "));
    EXPECT_THAT(text.output, HasSubstr(", get 3,000, seek 50"));
    EXPECT_EQ(text.output.find("keys are hashes") != std::string::npos, hashed) << text.output;
    const json counted = json::parse(shell_.Run("winnow trace --json " + name).output);
    EXPECT_EQ(counted["calls"], kNumGets + kNumSeeks);
    EXPECT_EQ(counted["get"], kNumGets);
    EXPECT_EQ(counted["seek"], kNumSeeks);
    EXPECT_EQ(counted["hashed"], hashed);
    EXPECT_EQ(counted["cut"], false);
    EXPECT_EQ(counted["column_families"], json({{"0", kNumGets + kNumSeeks}}));
  }
}

TEST_F(WinnowCliWorkload, CompareAsksTheRecordedLookups) {
  for (const char* const name : {"whole.trace", "hashed.trace"}) {
    SCOPED_TRACE(name);
    const json compared = Compare(absl::StrCat("--filters=bloom:4,ribbon:0.1% --workload=", name));
    EXPECT_EQ(compared["recorded"], true);
    EXPECT_EQ(compared["lookups"], kNumGets);
    EXPECT_EQ(compared["lookups_found"], kNumGets / 2);
    const json& rows = compared["filters"];
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0]["filter"], "now");
    // 1,500 look-ups of absent keys at 15 %, 1 % and 0.1 %.
    EXPECT_NEAR(rows[1]["needless_reads"], 0.147 * kNumGets / 2, 80);
    EXPECT_LT(rows[0]["needless_reads"], 60);
    EXPECT_LT(rows[2]["needless_reads"], 12);
  }
  EXPECT_EQ(Compare("--filters=bloom:4 --workload=whole.trace --lookups=100")["lookups"], 100);
}

// What it says of the filters that are there is what look-ups meet.
TEST_F(WinnowCliWorkload, CompareSaysWhatTheFiltersThatAreThereReadInVain) {
  const auto needless_reads = [&] {
    Options options;
    const auto db = *DB::Open(options, PathOf("db"));
    std::string value;
    for (int i = 0; i < kNumGets; i++) (void)db->Get(ReadOptions(), KeyAt(i), &value);
    uint64_t count = 0;
    for (const FilterStatistics& row : db->GetStatistics().filters) count += row.false_positive;
    Check(db->Close());
    return count;
  };
  for (const char* const filter : {"bloom:3", "cuckoo:5", "blocked_bloom:10"}) {
    SCOPED_TRACE(filter);
    ASSERT_EQ(shell_.Run(absl::StrCat("winnow refilter --db=db --filter=", filter)).exit_code, 0);
    EXPECT_EQ(Compare("--filters=none --workload=whole.trace")["filters"][0]["needless_reads"],
              needless_reads());
  }
}

// Keys can be hashed anew for any filter key, and hashes cannot.
TEST_F(WinnowCliWorkload, HashesServeTheFilterKeyOfThenAlone) {
  ASSERT_EQ(shell_.Run("winnow refilter --db=db --filter-key=prefix:7").exit_code, 0);
  const json whole = Compare("--filters=bloom:4 --workload=whole.trace");
  EXPECT_EQ(whole["lookups_found"], kNumGets / 2);
  EXPECT_EQ(whole["now_files_not_asked"], 0);
  const ShellResult refused =
      shell_.Run("winnow compare --db=db --filters=bloom:4 --workload=hashed.trace");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("hashes of the filter key 'whole' that was set then"));
  EXPECT_THAT(refused.output, HasSubstr("compare with --filter-key=whole"));

  const std::string flags = "--filters=bloom:4 --filter-key=whole --workload=hashed.trace";
  const json by_then = Compare(flags);
  EXPECT_EQ(by_then["lookups_found"], kNumGets / 2);
  EXPECT_EQ(by_then["now_files_not_asked"], 1);
  EXPECT_EQ(by_then["filters"][0]["needless_reads"], kNumGets / 2);
  EXPECT_LT(by_then["filters"][1]["needless_reads"], kNumGets / 4);
  EXPECT_THAT(shell_.Run("winnow compare --db=db " + flags).output,
              HasSubstr("now: the filters of 1 file are of another filter key or seed"));
}

TEST_F(WinnowCliWorkload, NowIsWhatABudgetHasInMemory) {
  const auto set = [&](const char* command) {
    const ShellResult done = shell_.Run(command);
    ASSERT_EQ(done.exit_code, 0) << done.output;
  };
  set("winnow refilter --db=db --set=filter_memory_budget=64K");
  const json all = Compare("--filters=none --workload=whole.trace");
  EXPECT_EQ(all["now_units"], 2);
  EXPECT_EQ(all["now_units_in_memory"], 2);
  EXPECT_NEAR(all["filters"][0]["bits_per_key"].get<double>(), 20, 1);
  EXPECT_LT(all["filters"][0]["needless_reads"], 5);
  set("winnow options db --set=filter_memory_budget=8K");
  const json half = Compare("--filters=none --workload=whole.trace");
  EXPECT_EQ(half["now_units"], 2);
  EXPECT_EQ(half["now_units_in_memory"], 1);
  EXPECT_NEAR(half["filters"][0]["bits_per_key"].get<double>(), 10, 0.5);
  EXPECT_GT(half["filters"][0]["needless_reads"], 3);
  EXPECT_THAT(shell_.Run("winnow compare --db=db --filters=none --workload=whole.trace").output,
              HasSubstr("now: of 2 units of filters 1 in memory, as an opening"));
}

TEST_F(WinnowCliWorkload, SaysWhatIsWrongWithAWorkload) {
  const auto compare = [&](const std::string& trace) {
    return shell_.Run(absl::StrCat(
        "winnow compare --db=db --filters=bloom:4 --workload=", trace, " | cat; ",
        "winnow compare --db=db --filters=bloom:4 --workload=", trace, " > /dev/null 2>&1"));
  };
  const ShellResult missing = compare("nothing.trace");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.output, HasSubstr("nothing.trace"));

  Record("other");
  const ShellResult other = compare("otherhashed.trace");
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_THAT(other.output, HasSubstr("hashes of another database"));

  // In the header, and in its first frame.
  const auto size = std::filesystem::file_size(PathOf("whole.trace"));
  for (const int64_t at : {0, 30, 48 + 12 + 100}) {
    SCOPED_TRACE(at);
    Damage("whole.trace", at, 0);
    const ShellResult damaged = compare("damaged.trace");
    EXPECT_EQ(damaged.exit_code, 3);
    EXPECT_THAT(damaged.output, HasSubstr("damaged.trace: at offset "));
    const ShellResult counted = shell_.Run("winnow trace damaged.trace");
    EXPECT_EQ(counted.exit_code, 3);
    EXPECT_THAT(counted.output, HasSubstr("damaged.trace: at offset "));
  }
  // Cut off in its header; and behind it, as by a kill, where nothing is left.
  Damage("whole.trace", -1, size - 20);
  EXPECT_EQ(compare("damaged.trace").exit_code, 3);
  Damage("whole.trace", -1, size - 100);
  const ShellResult cut = compare("damaged.trace");
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_THAT(cut.output, HasSubstr("has no look-ups of this column family"));
  EXPECT_THAT(shell_.Run("winnow trace damaged.trace").output, HasSubstr("not ended"));
}

TEST_F(WinnowCliWorkload, CompareWritesAPage) {
  const ShellResult result = shell_.Run(
      "winnow compare --db=db --filters=bloom:4,ribbon:1% --workload=whole.trace "
      "--report=page.html");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("3,000 recorded look-ups, 1,500 of them found"));
  std::ifstream in(PathOf("page.html"));
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("3,000 recorded look-ups, of which 1,500 found their key."));
  for (const char* const filter : {"now", "bloom:4", "ribbon:1%"}) {
    EXPECT_THAT(page, HasSubstr(filter));
  }
}

}  // namespace
}  // namespace winnow
