#include "tools/winnow_bench/contender.h"
#include "tools/winnow_bench/flags.h"
#include "winnow/filter/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tools/winnow_bench/engine.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;

// With an engine that every build has.
absl::StatusOr<BenchConfig> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "--engine=" + std::string(CompiledEngines().front()));
  return ParseFlags(words);
}

TEST(FlagsTest, EveryFormOfAFlagIsUnderstood) {
  const absl::StatusOr<BenchConfig> config =
      Parse({"--num=5000", "--reads", "70", "-threads=2", "--histogram", "--noverify_checksum",
             "--sync=1", "--statistics=false", "--compression_type=lz4", "--cache_size=64M"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->num, 5000);
  EXPECT_EQ(config->reads, 70);
  EXPECT_EQ(config->threads, 2);
  EXPECT_TRUE(config->histogram);
  EXPECT_FALSE(config->verify_checksum);
  EXPECT_TRUE(config->sync);
  EXPECT_FALSE(config->statistics);
  EXPECT_EQ(config->compression_type, "lz4");
  EXPECT_EQ(config->cache_size, 64 << 20);
}

TEST(FlagsTest, DefaultsAreDbBenchs) {
  const absl::StatusOr<BenchConfig> config = Parse({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->num, 1000000);
  EXPECT_EQ(config->num_reads(), 1000000u);
  EXPECT_EQ(config->key_size, 16);
  EXPECT_EQ(config->value_size, 100);
  EXPECT_EQ(config->cache_size, 8388608);
  EXPECT_EQ(config->write_buffer_size, 67108864);
  EXPECT_EQ(config->bloom_bits, -1);
  EXPECT_EQ(config->compression_type, "snappy");
}

TEST(FlagsTest, AnUnknownNameIsRefusedWithTheNearestOne) {
  EXPECT_THAT(Parse({"--bloombits=10"}).status().message(), HasSubstr("--bloom_bits"));
  EXPECT_THAT(Parse({"--benchmarks=readrandm"}).status().message(), HasSubstr("readrandom"));
  EXPECT_THAT(Parse({"--compression_type=snapy"}).status().message(), HasSubstr("snappy"));
  EXPECT_THAT(ParseFlags(std::vector<std::string>{"--engine=sqlite"}).status().message(),
              HasSubstr("unknown engine \"sqlite\""));
}

TEST(FlagsTest, APeerThatIsNotInTheBuildIsNamedWithItsPackage) {
  EXPECT_EQ(
      EngineIsCompiled("wiredtiger", {}).message(),
      "this winnow_bench was built without WiredTiger; install libwiredtiger-dev and build it "
      "again");
  EXPECT_THAT(std::string(EngineIsCompiled("rocksdb_tuned", {"winnow"}).message()),
              HasSubstr("without RocksDB"));
  EXPECT_TRUE(EngineIsCompiled("lmdb", {"winnow", "lmdb"}).ok());
  EXPECT_THAT(std::string(EngineIsCompiled("winow", {"winnow"}).message()),
              HasSubstr("did you mean winnow?"));
}

struct BadLine {
  std::vector<std::string> arguments;
  std::string_view message;
};

TEST(FlagsTest, BadValuesAreRefusedAndNamed) {
  const std::vector<BadLine> lines = {
      {{"--num=many"}, "--num: \"many\" is not a whole number"},
      {{"--num="}, "--num"},
      {{"--num=0"}, "between"},
      {{"--num=99999999999T"}, "--num"},
      {{"--compression_ratio=nan"}, "not a number"},
      {{"--threads"}, "--threads needs a value"},
      {{"--histogram=maybe"}, "true or false"},
      {{"--nonum"}, "unknown flag --nonum"},
      {{"num=5"}, "not a flag"},
      {{"--"}, "unknown flag"},
      {{"--sync", "--disable_wal"}, "exclude each other"},
      {{"--key_size=2", "--num=100000"}, "raise --key_size"},
      {{"--prefix_size=8", "--key_size=8"}, "--prefix_size"},
      {{"--prefix_size=1", "--num=1000"}, "prefixes do not fit"},
      {{"--benchmarks=,"}, "at least one"},
      {{"--rocksdb_tuned"}, "which --engine does not name"},
      {{"--key_shape=uid"}, "unknown key shape \"uid\"; did you mean uuid?"},
      {{"--key_shape=uuid", "--key_size=40"}, "leave out --key_size"},
      {{"--key_shape=url", "--prefix_size=4"}, "--prefix_size"},
      {{"--key_shape=url", "--num=2000M"}, "lower --num"},
      {{"--key_shape=shared_prefix", "--key_size=8", "--num=1000"}, "raise --key_size"},
      {{"--key_shape=shared_prefix", "--key_size=5"}, "raise --key_size"},
  };
  for (const BadLine& line : lines) {
    const absl::Status status = Parse(line.arguments).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line.arguments[0];
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(line.message)));
  }
}

TEST(FlagsTest, EveryFlagHasOneNameAndIsInTheHelp) {
  BenchConfig config;
  const std::string help = HelpText();
  std::set<std::string_view> names;
  for (const Flag& flag : FlagsOf(&config)) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    EXPECT_THAT(help, HasSubstr("--" + std::string(flag.name)));
  }
}

TEST(FlagsTest, EachEngineGetsTheFilterThatIsMeantForIt) {
  BenchConfig config;
  EXPECT_EQ(FilterFor(config, "winnow"), "blocked_bloom:10");
  EXPECT_EQ(FilterFor(config, "rocksdb"), "rocksdb.bloom:10");
  config.bloom_bits = 0;
  EXPECT_EQ(FilterFor(config, "winnow"), "none");
  EXPECT_EQ(FilterFor(config, "leveldb"), "none");
  config.bloom_bits = 12;
  EXPECT_EQ(FilterFor(config, "leveldb"), "leveldb.bloom:12");
  config.filter = "rocksdb.ribbon:10,cuckoo:1%";
  EXPECT_EQ(FilterFor(config, "winnow"), "cuckoo:1%");
  EXPECT_EQ(FilterFor(config, "rocksdb"), "rocksdb.ribbon:10");
  EXPECT_EQ(FilterFor(config, "leveldb"), "cuckoo:1%");
  EXPECT_EQ(FilterFor(config, "rocksdb_tuned"), "rocksdb.ribbon:10");
  EXPECT_EQ(FilterFor(config, "lmdb"), "none");
  EXPECT_EQ(FilterFor(config, "wiredtiger"), "none");
  config.filter = "cuckoo:1%,winnow_leveldb.bloom:12";
  EXPECT_EQ(FilterFor(config, "winnow"), "cuckoo:1%");
  EXPECT_EQ(FilterFor(config, "winnow_leveldb"), "winnow_leveldb.bloom:12");
  config.filter = "winnow.auto:10,rocksdb.bloom:10";
  EXPECT_EQ(FilterFor(config, "winnow"), "auto:10");
  EXPECT_EQ(FilterFor(config, "winnow_mapped"), "auto:10");
  EXPECT_EQ(FilterFor(config, "rocksdb"), "rocksdb.bloom:10");
}

TEST(FlagsTest, RocksDbTakesWinnowsFiltersWhenAFilterIsNamed) {
  BenchConfig config;
  config.filter = "blocked_bloom:12";
  EXPECT_EQ(FilterFor(config, "rocksdb"), "blocked_bloom:12");
  EXPECT_EQ(FilterFor(config, "leveldb"), "leveldb.bloom:12");
  EXPECT_EQ(FilterFor(config, "rocksdb@cuckoo:1%"), "cuckoo:1%") << "what stands behind it wins";
  EXPECT_EQ(FilterFor(config, "rocksdb@rocksdb.ribbon:7"), "rocksdb.ribbon:7");
}

TEST(ContenderTest, NamesAnEngineAndItsFilter) {
  EXPECT_EQ(EngineOf("rocksdb"), "rocksdb");
  EXPECT_EQ(EngineOf("rocksdb@cuckoo:1%"), "rocksdb");
  EXPECT_FALSE(FilterOf("rocksdb").has_value());
  EXPECT_EQ(FilterOf("rocksdb@cuckoo:1%"), "cuckoo:1%");
  EXPECT_EQ(FolderOf("rocksdb@cuckoo:1%"), "rocksdb@cuckoo_1percent");
  EXPECT_EQ(FolderOf("winnow"), "winnow");
}

TEST(ContenderTest, EachRocksDbIsFollowedByItsTunedTwin) {
  EXPECT_EQ(AddTunedContenders("winnow,rocksdb,leveldb"), "winnow,rocksdb,rocksdb_tuned,leveldb");
  EXPECT_EQ(AddTunedContenders("rocksdb@none,rocksdb"),
            "rocksdb@none,rocksdb_tuned@none,rocksdb,rocksdb_tuned");
  EXPECT_EQ(AddTunedContenders("rocksdb_tuned,rocksdb"), "rocksdb_tuned,rocksdb");
  EXPECT_EQ(AddTunedContenders("winnow"), "winnow");
  EXPECT_EQ(EngineOf("rocksdb_tuned@cuckoo:1%"), "rocksdb_tuned");
  EXPECT_EQ(StoreOf("rocksdb_tuned@cuckoo:1%"), "rocksdb");
  EXPECT_EQ(StoreOf("winnow_mapped@cuckoo:1%"), "winnow");
}

TEST(ContenderTest, AStarStandsForEachKindThatTakesTheAmount) {
  EXPECT_EQ(ExpandContenders("winnow,rocksdb@none"), "winnow,rocksdb@none");
  const std::string expanded = ExpandContenders("winnow,rocksdb@*:10");
  for (const std::string& kind : filter::SpecKindNames()) {
    const bool has_bits = kind != "none";
    EXPECT_EQ(expanded.find("rocksdb@" + kind + ":10") != std::string::npos, has_bits) << kind;
  }
  EXPECT_EQ(expanded.find("winnow,"), 0u);
  EXPECT_EQ(ExpandContenders("rocksdb@*:1000"), "") << "no kind takes it";
}

TEST(FlagsTest, APeerRefusesAFilterThatItDoesNotHave) {
  EXPECT_EQ(*PeerBloomBits("leveldb", "none"), 0);
  EXPECT_EQ(*PeerBloomBits("leveldb", "leveldb.bloom:12"), 12);
  const absl::Status refused = PeerBloomBits("leveldb", "cuckoo:1%").status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("leveldb.bloom"));
  EXPECT_FALSE(PeerBloomBits("leveldb", "rocksdb.bloom:10").ok());
  EXPECT_FALSE(PeerBloomBits("leveldb", "bloom:ten").ok());
}

}  // namespace
}  // namespace winnow::bench
