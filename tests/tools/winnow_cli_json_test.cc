// The machine-readable side of the winnow program: what --json prints parses, and has the members
// that the help of each command promises.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/winnow_cli_shell.h"

namespace winnow {
namespace {

using nlohmann::json;

// The objects of an output of one object a line.
std::vector<json> ParseLines(const std::string& output) {
  std::vector<json> objects;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(json::parse(line, nullptr, /*allow_exceptions=*/false));
    EXPECT_FALSE(objects.back().is_discarded()) << line;
  }
  return objects;
}

std::set<std::string> Members(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

class WinnowCliJson : public testing::Test {
 protected:
  void SetUp() override {
    const ShellResult loaded = shell_.Run(
        "printf 'apple\\tred\\nplum\\tblue\\n\\\\xff\\\\x00\\tbinary\\n' | winnow load --db=db");
    ASSERT_EQ(loaded.exit_code, 0) << loaded.output;
  }

  std::vector<json> Lines(const std::string& command, int exit_code = 0) {
    const ShellResult result = shell_.RunForOutput(command);
    EXPECT_EQ(result.exit_code, exit_code) << command;
    return ParseLines(result.output);
  }
  json One(const std::string& command, int exit_code = 0) {
    const std::vector<json> lines = Lines(command, exit_code);
    EXPECT_EQ(lines.size(), 1u) << command;
    return lines.empty() ? json() : lines[0];
  }

  ScratchShell shell_;
};

TEST_F(WinnowCliJson, GetTellsValueOrAbsence) {
  EXPECT_EQ(One("winnow get --db=db --json apple"),
            json({{"key", "apple"}, {"found", true}, {"value", "red"}}));
  EXPECT_EQ(One("winnow get --db=db --json pear", 1), json({{"key", "pear"}, {"found", false}}));
  EXPECT_EQ(One("winnow get --db=db --json --hex ff00"),
            json({{"key_hex", "ff00"}, {"found", true}, {"value_hex", "62696e617279"}}));
}

TEST_F(WinnowCliJson, MgetKeepsTheOrderAsked) {
  const std::vector<json> lines = Lines("winnow mget --db=db --json plum pear apple", 1);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], json({{"key", "plum"}, {"found", true}, {"value", "blue"}}));
  EXPECT_EQ(lines[1], json({{"key", "pear"}, {"found", false}}));
  EXPECT_EQ(lines[2]["value"], "red");
}

TEST_F(WinnowCliJson, ScanGoesBackThroughLoad) {
  const std::vector<json> lines = Lines("winnow scan --db=db --json");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], json({{"key", "apple"}, {"value", "red"}}));
  EXPECT_EQ(lines[2], json({{"key_hex", "ff00"}, {"value", "binary"}}));
  const json loaded =
      One("winnow scan --db=db --json | winnow load --db=copy --format=jsonl --json");
  EXPECT_EQ(Members(loaded), (std::set<std::string>{"entries", "bytes", "skipped_lines", "seconds",
                                                    "entries_per_second", "ingested_tables"}));
  EXPECT_EQ(loaded["entries"], 3);
  EXPECT_EQ(shell_.RunForOutput("winnow scan --db=db --hex").output,
            shell_.RunForOutput("winnow scan --db=copy --hex").output);
}

TEST_F(WinnowCliJson, UpdatesAndCount) {
  EXPECT_EQ(One("winnow put --db=db --json k v"), json({{"ok", true}}));
  EXPECT_EQ(One("winnow count --db=db --json"), json({{"count", 4}}));
  EXPECT_EQ(One("winnow delete --db=db --json k"), json({{"ok", true}}));
  EXPECT_EQ(One("winnow count --db=db --json"), json({{"count", 3}}));
}

TEST_F(WinnowCliJson, StatsAndPropertiesAreNested) {
  const json stats = One("winnow stats --db=db --json");
  EXPECT_EQ(Members(stats),
            (std::set<std::string>{"levels", "filter_budget", "filters", "counters"}));
  for (const auto& [name, table] : stats.items()) EXPECT_TRUE(table.is_structured()) << name;
  // What the commands before have counted, and not what this one would.
  EXPECT_GT(stats["counters"]["in_all"]["tickers"]["writes"], 0);
  EXPECT_EQ(stats["counters"]["is_closed"], true);
  EXPECT_GE(One("winnow property --json")["properties"].size(), 10u);
  EXPECT_EQ(One("winnow property --db=db --json filter-key"),
            json({{"property", "winnow.filter-key"}, {"value", "whole"}}));
}

// Counters of 0 were once shown for what nobody knows.
TEST_F(WinnowCliJson, StatsThatAreMissingAreNull) {
  const auto expect_missing = [&](const std::string& why) {
    const json stats = One("winnow stats --db=db --json");
    EXPECT_EQ(Members(stats),
              (std::set<std::string>{"levels", "filter_budget", "filters", "counters", "missing"}));
    for (const char* name : {"filter_budget", "filters", "counters"}) {
      EXPECT_TRUE(stats[name].is_null()) << name;
    }
    EXPECT_TRUE(stats["levels"].is_array());
    EXPECT_EQ(stats["missing"].get<std::string>().find(why), 0u) << stats["missing"];
  };
  EXPECT_FALSE(One("winnow stats --db=db --json").contains("missing"));
  shell_.Run("rm -f db/STATISTICS.old; echo no statistics >db/STATISTICS");
  expect_missing("Counters begin anew: db/STATISTICS: ");
  shell_.Run("rm db/STATISTICS");
  expect_missing("Nothing has been counted yet: ");
}

TEST_F(WinnowCliJson, CompactSstAndExplain) {
  const json compacted = One("winnow compact --db=db --json");
  EXPECT_EQ(Members(compacted), (std::set<std::string>{"files_before", "bytes_before",
                                                       "files_after", "bytes_after", "seconds"}));
  EXPECT_EQ(compacted["files_after"], 1);

  const std::vector<json> sst = Lines("winnow sst --db=db --json --blocks --keys");
  ASSERT_EQ(sst.size(), 4u) << "one table, three entries";
  EXPECT_EQ(Members(sst[0]),
            (std::set<std::string>{"file", "file_id", "database_id", "file_bytes", "properties",
                                   "filter", "range_filter", "blocks"}));
  EXPECT_EQ(sst[0]["properties"]["entries"], 3);
  EXPECT_EQ(sst[0]["properties"]["largest_key_hex"], "ff00");
  EXPECT_EQ(sst[0]["filter"]["kind"], "blocked_bloom");
  EXPECT_GT(sst[0]["filter"]["expected_fpr"], 0.0);
  EXPECT_LT(sst[0]["filter"]["sampled_fpr"], 1.0);
  EXPECT_EQ(sst[1]["key"], "apple");

  const json found = One("winnow explain --db=db --json apple");
  EXPECT_EQ(found["found"], true);
  EXPECT_FALSE(found["steps"].empty());
  EXPECT_EQ(One("winnow explain --db=db --json banana", 1)["found"], false);
}

TEST_F(WinnowCliJson, FamiliesCarryTheirFilters) {
  One("winnow families create users --db=db --filter=cuckoo:1% --json");
  const json families = One("winnow families --db=db --json")["families"];
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0]["name"], "default");
  EXPECT_EQ(families[1]["name"], "users");
  EXPECT_EQ(families[1]["filter"], "cuckoo:1%");
}

TEST_F(WinnowCliJson, WalAndManifestEndWithTheirEnd) {
  One("winnow put --db=db --hex ff00 6162 --json");
  const std::vector<json> wal = Lines("winnow wal --db=db --json");
  ASSERT_EQ(wal.size(), 3u) << "start, one update, end";
  EXPECT_EQ(wal[0]["type"], "log_start");
  EXPECT_EQ(wal[1]["type"], "put");
  EXPECT_EQ(wal[1]["key_hex"], "ff00");
  EXPECT_EQ(wal[2]["end"], "clean_close");
  const std::vector<json> manifest = Lines("winnow manifest --db=db --json");
  ASSERT_GE(manifest.size(), 2u);
  EXPECT_TRUE(manifest[0].contains("hash_seed"));
  EXPECT_TRUE(manifest[manifest.size() - 2].contains("newest_log"));
  EXPECT_TRUE(manifest.back().contains("end"));
}

TEST_F(WinnowCliJson, VerifyAndDestroy) {
  EXPECT_EQ(One("winnow compact --db=db --json").is_object(), true);
  const json sound = One("winnow verify --db=db --json");
  EXPECT_EQ(sound, json({{"sound", true},
                         {"finished", true},
                         {"sstables", 1},
                         {"entries", 3},
                         {"logged_updates", 0},
                         {"problems", json::array()}}));
  EXPECT_EQ(One("winnow destroy --db=db --yes --json"), json({{"ok", true}}));
  EXPECT_EQ(shell_.Run("test -e db").exit_code, 1);
}

}  // namespace
}  // namespace winnow
