// One damaged byte in a filter of several units, the table's own or its filter file's: DB::Verify
// names the unit, in memory or not, and the others are asked all the same.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/sstable/filter_file.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/engine/db/refilter_database.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow::filter_unit_damage {
namespace {

constexpr uint64_t kNumKeys = 40'000;
constexpr uint64_t kAmple = 1 << 20;
constexpr uint64_t kScant = 64 << 10;  // for the first unit, and not for all

std::string KeyAt(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

struct Unit {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Of the only file of this kind.
class FileOfUnits {
 public:
  FileOfUnits(MemoryDb& db, std::string_view suffix) {
    auto files = refilter::BytesOf(db, suffix);
    EXPECT_EQ(files.size(), 1u);
    name_ = files.begin()->first;
    sound_ = files.begin()->second;
    std::vector<filter::BuiltUnit> listed;
    uint64_t at = filter::kFilterBlockHeaderBytes;
    auto opened = *db.file_system().OpenRandomAccess(path());
    if (suffix == ".flt") {
      const auto file = *FilterFile::Open(std::move(opened), path(), 0, 0);
      listed = file->header().units;
      at += file->header().filter_block().offset;
    } else {
      const auto table = *SstableReader::Open({}, std::move(opened), path());
      listed = table->ReadProperties()->filter_units;
      at += sound_.find("WNWFILTR");
    }
    for (const filter::BuiltUnit& unit : listed) {
      units_.push_back({at, unit.bytes});
      at += unit.bytes;
    }
  }

  std::string path() const { return absl::StrCat(MemoryDb::kPath, "/", name_); }
  const std::vector<Unit>& units() const { return units_; }

  void DamageAt(MemoryDb& db, const std::vector<uint64_t>& offsets) const {
    std::string bytes = sound_;
    for (const uint64_t at : offsets) bytes[at] = static_cast<char>(bytes[at] ^ 4);
    refilter::Overwrite(db, name_, bytes);
  }

 private:
  std::string name_;
  std::string sound_;
  std::vector<Unit> units_;
};

// How many of a few thousand look-ups of absent keys read a block.
uint64_t NeedlessReads(MemoryDb& db) {
  const auto blocks = [&] {
    return db->GetStatistics().Get(Ticker::kDataBlocksRead) +
           db->GetStatistics().Get(Ticker::kBlockCacheHits);
  };
  const uint64_t before = blocks();
  for (uint64_t i = 0; i < 4000; i++) EXPECT_EQ(db.Get(KeyAt(10 * i + 1)), "(absent)");
  return blocks() - before;
}

void ExpectAllNumbers(MemoryDb& db) {
  for (uint64_t i = 0; i < kNumKeys; i += 3) ASSERT_EQ(db.Get(KeyAt(2 * i)), "v") << i;
}

class FilterUnitDamage : public testing::TestWithParam<const char*> {
 protected:
  FilterUnitDamage() : db_(OneTable()) {
    for (uint64_t i = 0; i < kNumKeys; i++) db_.Put(KeyAt(2 * i), "v");
    db_.CompactAll();
    if (in_filter_file()) refilter::RefilterOrFail(db_, {.filter = "bloom"});
    EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
    db_.CloseDb();
    db_.options().filter = "";
  }

  static Options OneTable() {
    Options options = MemoryDb::Quiet();
    options.target_file_bytes = 64 << 20;
    options.filter = "blocked_bloom";
    options.filter_memory_budget = kAmple;
    return options;
  }
  bool in_filter_file() const { return std::string_view(GetParam()) == ".flt"; }

  // An opening for writing gives a filter file up in which it finds damage.
  void OpenToRead(uint64_t budget) {
    db_.CloseDb();
    db_.options().read_only = true;
    db_.options().filter_memory_budget = budget;
    db_.Reopen();
  }

  void ExpectProblems(const FileOfUnits& file, const std::vector<size_t>& units) {
    const auto problems = db_->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    ASSERT_EQ(problems->size(), units.size());
    for (size_t i = 0; i < units.size(); i++) {
      const VerifyProblem& problem = (*problems)[i];
      EXPECT_EQ(problem.path, file.path());
      EXPECT_EQ(problem.offset, file.units()[units[i]].offset) << problem.status;
      EXPECT_TRUE(absl::IsDataLoss(problem.status)) << problem.status;
      const std::string place =
          absl::StrCat(file.path(), ": at offset ", file.units()[units[i]].offset,
                       ": filter block: unit ", units[i] + 1, " of ", file.units().size());
      EXPECT_TRUE(absl::StartsWith(problem.status.message(), place)) << problem.status;
    }
  }

  MemoryDb db_;
};

TEST_P(FilterUnitDamage, VerifyNamesTheUnit) {
  const FileOfUnits file(db_, GetParam());
  ASSERT_GE(file.units().size(), 2u);
  for (const uint64_t budget : {kAmple, kScant}) {
    db_.CloseDb();
    file.DamageAt(db_, {});
    OpenToRead(budget);
    EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
    const uint64_t in_memory = std::stoull(*db_->GetProperty("winnow.filter-memory"));
    EXPECT_EQ(in_memory < file.units()[0].bytes + file.units()[1].bytes, budget == kScant);
    for (size_t unit = 0; unit < file.units().size(); unit++) {
      const Unit& damaged = file.units()[unit];
      for (const uint64_t at : {uint64_t{0}, damaged.bytes / 2, damaged.bytes - 1}) {
        SCOPED_TRACE(absl::StrCat("unit ", unit, ", byte ", at, ", budget ", budget));
        db_.CloseDb();
        file.DamageAt(db_, {damaged.offset + at});
        OpenToRead(budget);
        ExpectProblems(file, {unit});
        ExpectAllNumbers(db_);
      }
    }
  }
}

TEST_P(FilterUnitDamage, VerifyNamesEachOfSeveral) {
  const FileOfUnits file(db_, GetParam());
  ASSERT_GE(file.units().size(), 2u);
  file.DamageAt(db_, {file.units()[0].offset + 100, file.units()[1].offset + 100});
  OpenToRead(kAmple);
  ExpectProblems(file, {0, 1});
  ExpectAllNumbers(db_);
}

// With memory for all of them; a filter file whose first unit is damaged gives way to the table's
// own filter, which is whole.
TEST_P(FilterUnitDamage, TheOtherUnitsAreAsked) {
  const FileOfUnits file(db_, GetParam());
  OpenToRead(kAmple);
  EXPECT_LT(NeedlessReads(db_), 10u);
  for (size_t unit = 0; unit < file.units().size(); unit++) {
    SCOPED_TRACE(absl::StrCat("unit ", unit));
    db_.CloseDb();
    file.DamageAt(db_, {file.units()[unit].offset + file.units()[unit].bytes / 2});
    OpenToRead(kAmple);
    EXPECT_EQ(db_->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
    ExpectAllNumbers(db_);
    EXPECT_LT(NeedlessReads(db_), 600u) << "a unit of ten bits lets one in a hundred through";
  }
}

// What is neither a unit nor part of the list: the head of the block, and its own checksum.
TEST_P(FilterUnitDamage, VerifyNamesTheBlockWhereNoUnitIsDamaged) {
  const FileOfUnits file(db_, GetParam());
  const uint64_t block_at = file.units()[0].offset - filter::kFilterBlockHeaderBytes;
  const uint64_t end = file.units().back().offset + file.units().back().bytes;
  for (const uint64_t at : {block_at + 20, end + 3}) {
    db_.CloseDb();
    file.DamageAt(db_, {at});
    OpenToRead(kAmple);
    const auto problems = db_->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    ASSERT_EQ(problems->size(), 1u);
    EXPECT_EQ(problems->front().path, file.path());
    EXPECT_EQ(problems->front().offset, block_at) << problems->front().status;
    ExpectAllNumbers(db_);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, FilterUnitDamage, testing::Values(".sst", ".flt"),
                         [](const auto& parameter) {
                           return parameter.param == std::string_view(".sst") ? "Table"
                                                                              : "FilterFile";
                         });

}  // namespace
}  // namespace winnow::filter_unit_damage
