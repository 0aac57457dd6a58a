// Every way to name a policy, and what is said of wrong names.

#include <gmock/gmock.h>
#include <rocksdb/convenience.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/version.h>

#include <fstream>

#include "filter/rocksdb/policy_spec.h"
#include "filter/rocksdb/version_check.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace winnow::filter {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

const rocksdb::BlockBasedTableOptions& TableOf(const rocksdb::Options& options) {
  return *options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
}

class NamesTest : public testing::Test {
 protected:
  NamesTest() { EXPECT_TRUE(RegisterFilterPolicies().ok()); }

  static rocksdb::Status Create(const std::string& text, PolicyPointer* policy) {
    return rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), text, policy);
  }

  // The error of a name that is refused.
  static std::string ErrorOf(const std::string& text) {
    PolicyPointer policy;
    const rocksdb::Status status = Create(text, &policy);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_EQ(policy, nullptr) << text;
    return status.ToString();
  }

  TestFolder folder_;
};

TEST_F(NamesTest, EachKindIsCreatedFromItsName) {
  for (const std::string& kind : SpecKindNames()) {
    PolicyPointer policy;
    const rocksdb::Status status = Create("winnow." + kind, &policy);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(policy->Name(), "winnow." + kind);
    EXPECT_EQ(policy->GetId(), "winnow." + kind);
    EXPECT_STREQ(policy->CompatibilityName(), "rocksdb.BuiltinBloomFilter") << "for ever";
  }
  std::vector<std::string> names;
  rocksdb::ObjectLibrary::Default()->GetFactoryNames(rocksdb::FilterPolicy::Type(), &names);
  for (const std::string& kind : SpecKindNames()) EXPECT_THAT(names, Contains("winnow." + kind));
}

TEST_F(NamesTest, AmountsAndWordsAreKept) {
  for (const char* text :
       {"winnow.bloom:9.5", "winnow.cuckoo:1%", "winnow.cuckoo:0.1%",
        "winnow.cuckoo:1%:semi_sorted", "winnow.cuckoo:semi_sorted",
        "winnow.cuckoo:10:semi_sorted:level_aware", "winnow.blocked_bloom:10:level_aware",
        "winnow.blocked_bloom:10:level_aware:8", "winnow.none"}) {
    PolicyPointer policy;
    const rocksdb::Status status = Create(text, &policy);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(policy->GetId(), text);
    PolicyPointer again;
    ASSERT_TRUE(Create(policy->ToString(rocksdb::ConfigOptions()), &again).ok());
    EXPECT_EQ(again->GetId(), text);
  }
}

TEST_F(NamesTest, IdInBracesWorks) {
  PolicyPointer policy;
  ASSERT_TRUE(Create("{id=winnow.cuckoo:1%}", &policy).ok());
  EXPECT_EQ(policy->GetId(), "winnow.cuckoo:1%");
  ASSERT_TRUE(Create("id=winnow.bloom:8", &policy).ok()) << "over a policy that is already set";
  EXPECT_EQ(policy->GetId(), "winnow.bloom:8");
}

TEST_F(NamesTest, ReplacesAPolicyThatIsAlreadySet) {
  PolicyPointer policy(rocksdb::NewBloomFilterPolicy(10));
  ASSERT_TRUE(Create("winnow.cuckoo:1%", &policy).ok());
  EXPECT_EQ(policy->GetId(), "winnow.cuckoo:1%");
  ASSERT_TRUE(Create("winnow.bloom:7", &policy).ok());
  EXPECT_EQ(policy->GetId(), "winnow.bloom:7");
  ASSERT_TRUE(Create("bloomfilter:10:false", &policy).ok()) << "and back";
  EXPECT_STREQ(policy->CompatibilityName(), "rocksdb.BuiltinBloomFilter");
}

TEST_F(NamesTest, TableOptionsFromAString) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::BlockBasedTableOptions read;
  ASSERT_TRUE(
      rocksdb::GetBlockBasedTableOptionsFromString(
          rocksdb::ConfigOptions(), table, "filter_policy=winnow.bloom:2%;block_size=512", &read)
          .ok());
  EXPECT_EQ(read.filter_policy->GetId(), "winnow.bloom:2%");
}

TEST_F(NamesTest, AnOptionsFileWrittenByHandIsRead) {
  const std::string path = folder_.Path("options.ini");
  std::ofstream(path) << "[Version]\n  rocksdb_version=" << ROCKSDB_MAJOR << "." << ROCKSDB_MINOR
                      << ".0\n  options_file_version=1.1\n[DBOptions]\n  create_if_missing=true\n"
                         "[CFOptions \"default\"]\n  table_factory=BlockBasedTable\n"
                         "[TableOptions/BlockBasedTable \"default\"]\n"
                         "  filter_policy=winnow.cuckoo:1%\n";
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  const rocksdb::Status status =
      rocksdb::LoadOptionsFromFile(rocksdb::ConfigOptions(), path, &db_options, &families);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const rocksdb::Options options(db_options, families[0].options);
  EXPECT_EQ(TableOf(options).filter_policy->GetId(), "winnow.cuckoo:1%");
}

// SetOptions reaches the policy where RocksDB lets it: RocksDB 7.8.3 takes the name of the present
// policy and refuses another, saying so. Either way what is in force is what the OPTIONS file says.
TEST_F(NamesTest, SetOptionsAndTheOptionsFileAgree) {
  for (const char* text : {"winnow.cuckoo:1%", "winnow.bloom:0.1%"}) {
    auto db = OpenOrFail(SmallTreeOptions(), TableWithFilter(MakeTestPolicy("cuckoo:1%")),
                         folder_.Path("db"));
    const rocksdb::Status set =
        db->SetOptions({{"block_based_table_factory",
                         std::string("{filter_policy=") + text + ";block_size=2048}"}});
    const std::string in_force = TableOf(db->GetOptions()).filter_policy->GetId();
    if (set.ok()) {
      EXPECT_EQ(in_force, text);
      EXPECT_EQ(TableOf(db->GetOptions()).block_size, 2048u);
    } else {
      EXPECT_THAT(set.ToString(), HasSubstr("filter_policy"));
      EXPECT_STRNE(text, "winnow.cuckoo:1%") << "the present policy must be accepted";
      EXPECT_EQ(in_force, "winnow.cuckoo:1%");
    }
    db.reset();
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    ASSERT_TRUE(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), folder_.Path("db"),
                                           &db_options, &families)
                    .ok());
    const rocksdb::Options read(db_options, families[0].options);
    EXPECT_EQ(TableOf(read).filter_policy->GetId(), in_force);
  }
}

// RocksDB 11.9 says OK to a name that nobody knows, and keeps the policy.
TEST_F(NamesTest, SetOptionsWithAWrongNameIsWarnedOfAndChangesNothing) {
  static std::string line;
  line.clear();
  auto db = OpenOrFail(SmallTreeOptions(), TableWithFilter(MakeTestPolicy("cuckoo:1%")),
                       folder_.Path("db"));
  SetFilterPolicyWarningHandler([](const std::string& warning) { line = warning; });
  const rocksdb::Status set =
      db->SetOptions({{"block_based_table_factory", "{filter_policy=winnow.cucko:2%;}"}});
  SetFilterPolicyWarningHandler(nullptr);
  if (set.ok()) {
    EXPECT_THAT(line, HasSubstr("did you mean 'cuckoo'"));
  } else {
    EXPECT_THAT(set.ToString(), HasSubstr("filter_policy"));
  }
  EXPECT_EQ(TableOf(db->GetOptions()).filter_policy->GetId(), "winnow.cuckoo:1%");
}

TEST_F(NamesTest, AWrongNameIsWarnedOfOnceThoughReadTwice) {
  static int warnings;
  warnings = 0;
  SetFilterPolicyWarningHandler([](const std::string& line) {
    ++warnings;
    EXPECT_THAT(line, HasSubstr("unknown kind 'blum'"));
  });
  for (int i = 0; i < 3; ++i) ErrorOf("winnow.blum:10");
  SetFilterPolicyWarningHandler(nullptr);
  EXPECT_EQ(warnings, 1);
}

TEST_F(NamesTest, WrongNamesGetAReason) {
  EXPECT_THAT(ErrorOf("winnow.cucko:1%"),
              AllOf(HasSubstr("unknown kind 'cucko'"), HasSubstr("did you mean 'cuckoo'")));
  EXPECT_THAT(ErrorOf("winnow.bloom:100000"), HasSubstr("did you mean bytes"));
  EXPECT_THAT(ErrorOf("winnow.bloom:zehn"), HasSubstr("bits per key"));
  EXPECT_THAT(ErrorOf("winnow.bloom:0"), HasSubstr("did you mean 'none'"));
  EXPECT_THAT(ErrorOf("winnow.bloom:10:extra"), HasSubstr("extra"));
  EXPECT_THAT(ErrorOf("winnow.none:level_aware"), HasSubstr("level_aware"));
  EXPECT_THAT(ErrorOf("winnow.bloom:10:level_aware:1"), HasSubstr("from 2 to 100"));
  EXPECT_THAT(ErrorOf("winnow.bloom:10:level_aware:x"), HasSubstr("from 2 to 100"));
  EXPECT_THAT(ErrorOf("winnow.bloom:10:level_awareness"), HasSubstr("from 2 to 100"));
  EXPECT_EQ(NewFilterPolicy("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NewFilterPolicy("winnow.bloom:10").status().code(), absl::StatusCode::kInvalidArgument)
      << "a spec has no prefix";
}

// RocksDB knows nothing of such names and goes on without a filter where it reads them in an
// options file. They are errors with advice, and a line.
TEST_F(NamesTest, NamesThatAreNearlyOursAreRefusedWithAdvice) {
  static std::vector<std::string> lines;
  lines.clear();
  SetFilterPolicyWarningHandler([](const std::string& line) { lines.push_back(line); });
  const std::pair<const char*, const char*> meant[] = {
      {"winnow:cuckoo:1%", "did you mean 'winnow.cuckoo:1%'?"},
      {"Winnow.bloom:10", "did you mean 'winnow.bloom:10'?"},
      {"WINNOW.RIBBON:8", "did you mean 'winnow.ribbon:8'?"},
      {"winnow_bloom", "did you mean 'winnow.bloom'?"},
      {"winnowbloom:7", "did you mean 'winnow.bloom:7'?"},
      {"cuckoo:1%", "did you mean 'winnow.cuckoo:1%'?"},
      {"blocked_bloom", "did you mean 'winnow.blocked_bloom'?"},
      {"ribbon:10:level_aware", "did you mean 'winnow.ribbon:10:level_aware'?"},
      {"winnow", "such as 'winnow.blocked_bloom:10'"},
      {"winnow.", "such as 'winnow.blocked_bloom:10'"},
      {"winnow:", "such as 'winnow.blocked_bloom:10'"},
      {"bloom:zehn", "such as 'winnow.blocked_bloom:10'"},
  };
  for (const auto& [name, advice] : meant) {
    EXPECT_THAT(ErrorOf(name), AllOf(HasSubstr("Invalid argument"), HasSubstr(advice))) << name;
    ASSERT_FALSE(lines.empty()) << name;
    EXPECT_THAT(lines.back(), AllOf(HasSubstr(name), HasSubstr(advice)));
  }
  EXPECT_EQ(lines.size(), std::size(meant));
  for (const std::string& kind : SpecKindNames()) {
    EXPECT_THAT(ErrorOf(kind), HasSubstr("did you mean 'winnow." + kind + "'?"));
  }
  SetFilterPolicyWarningHandler(nullptr);
}

TEST_F(NamesTest, RocksDbsOwnNamesStayItsOwn) {
  for (const char* name : {"bloomfilter:10:false", "ribbonfilter:10", "rocksdb.BloomFilter:7"}) {
    PolicyPointer policy;
    EXPECT_TRUE(Create(name, &policy).ok()) << name;
  }
}

TEST_F(NamesTest, PolicySpecTextReadsBack) {
  for (const char* text : {"bloom", "bloom:7.25:level_aware:6.5", "cuckoo:1%:level_aware"}) {
    const auto spec = internal::ParsePolicySpec(text);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(internal::PolicySpecText(*spec), text);
  }
  EXPECT_EQ(internal::PolicySpecText(*internal::ParsePolicySpec("bloom:8.0:level_aware:10")),
            "bloom:8:level_aware");
  EXPECT_EQ(internal::PolicySpecText(*internal::ParsePolicySpec("auto:8:level_aware")), "auto:8");
  EXPECT_TRUE(internal::ParsePolicySpec("auto:8")->level_aware);
  EXPECT_TRUE(internal::ParsePolicySpec("auto")->level_aware);
  EXPECT_FALSE(internal::ParsePolicySpec("auto:1%")->level_aware);
  EXPECT_EQ(internal::PolicySpecText(*internal::ParsePolicySpec("auto:1%:level_aware")),
            "auto:1%:level_aware");
  EXPECT_FALSE(internal::ParsePolicySpec("ribbon:8")->level_aware);
}

TEST(VersionCheckTest, OnlyTheVersionCompiledForIsAccepted) {
  EXPECT_TRUE(internal::CheckLoadedRocksDb().ok());
  EXPECT_TRUE(internal::CompareRocksDbVersions("7.8", "7.8").ok());
  for (const char* loaded : {"7.9", "8.8", "7.80", "11.0", ""}) {
    const absl::Status status = internal::CompareRocksDbVersions("7.8", loaded);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << loaded;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("compiled for RocksDB 7.8"), HasSubstr("RocksDB_ROOT")));
  }
}

}  // namespace
}  // namespace winnow::filter
