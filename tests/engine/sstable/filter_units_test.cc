// A table's filter under a budget: its own or its filter file's, in units or as a whole.
#include "engine/sstable/filter_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/sstable/filter_file.h"
#include "engine/sstable/filter_ledger.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow::filter_units {
namespace {

constexpr uint64_t kAmple = 1 << 20;
constexpr uint64_t kScant = 100;
constexpr int kNumKeys = 2000;
constexpr uint64_t kSeed = 7;

constexpr uint64_t kOfOthers = kScant + 1;

// A first unit is let in as long as nothing exceeds the limit yet.
void TakeAllRoom(FilterLedger* ledger) {
  ASSERT_TRUE(ledger->Reserve(kOfOthers, FilterLedger::Claim::kFirstUnit));
}

void GiveRoom(FilterLedger* ledger) {
  ledger->set_limit_bytes(kAmple);
  ledger->Release(kOfOthers);
}

std::string KeyAt(int i) { return absl::StrCat("key", 10000 + i); }

SstableModel Keys() {
  SstableModel model;
  for (int i = 0; i < kNumKeys; i += 2) {
    model[MakeInternalKey(KeyAt(i), 1, EntryType::kPut)] = "v";
  }
  return model;
}

SstableBuilderOptions With(std::string_view spec, std::vector<double> unit_bits = {}) {
  SstableBuilderOptions options;
  options.filter_spec = Spec(spec);
  options.filter_unit_bits = std::move(unit_bits);
  options.hash_seed = kSeed;
  return options;
}

std::unique_ptr<SstableReader> OpenWith(FilterLedger* ledger, const std::string& bytes,
                                        std::unique_ptr<FilterFile> filter_file = nullptr) {
  SstableReaderOptions options;
  options.filter_ledger = ledger;
  auto table = SstableReader::Open(options, std::make_unique<StringFile>(bytes),
                                   std::string("t.sst"), std::move(filter_file));
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

FilterAnswer Ask(const SstableReader& table, int i) {
  return table.AskFilter({}, table.filter_key().LookupHash(KeyAt(i), table.hash_seed()), KeyAt(i));
}

// Of the absent keys, how many the filter lets through; no key that is there is denied.
int Passing(const SstableReader& table) {
  int passing = 0;
  for (int i = 0; i < kNumKeys; i++) {
    const FilterAnswer answer = Ask(table, i);
    if (i % 2 == 0) {
      EXPECT_NE(answer, FilterAnswer::kNo) << i;
    } else {
      passing += answer == FilterAnswer::kNo ? 0 : 1;
    }
  }
  return passing;
}

// Another filter of the same keys; the table's identity is not checked.
std::string FilterFileOf(std::string_view spec, const std::vector<double>& unit_bits) {
  auto builder = *filter::FilterBuilder::Create(Spec(spec), kSeed);
  builder->set_unit_bits(unit_bits);
  for (int i = 0; i < kNumKeys; i += 2) builder->Add(filter::HashKey(KeyAt(i), kSeed));
  const filter::BuiltFilter built = builder->Finish();
  FilterFileHeader header;
  header.table_id = 1;
  header.hash_seed = kSeed;
  header.filter_spec = spec;
  header.filter_key = "whole";
  if (!unit_bits.empty()) header.units = built.units;
  const auto files = NewMemoryFileSystem();
  auto file = *files->Create("/f", {});
  const absl::Status written = WriteFilterFile(built, &header, file.get());
  EXPECT_TRUE(written.ok()) << written;
  return *ReadFile(*files, "/f", 1 << 20);
}

absl::StatusOr<std::unique_ptr<FilterFile>> OpenFilterFile(const std::string& bytes) {
  return FilterFile::Open(std::make_unique<StringFile>(bytes), std::string("f.flt"), 0, 1);
}

TEST(FilterUnits, AreReadOneByOneAsThereIsRoom) {
  const std::string bytes = BuildTable(Keys(), With("blocked_bloom", {5, 5, 5})).bytes;
  FilterLedger ledger(kScant);
  TakeAllRoom(&ledger);
  const auto table = OpenWith(&ledger, bytes);
  FilterUnits* const units = table->filter_units();
  ASSERT_NE(units, nullptr);
  ASSERT_EQ(units->units().size(), 3u);
  EXPECT_TRUE(table->filter_description().in_units);
  EXPECT_EQ(units->num_resident(), 0u);
  EXPECT_EQ(ledger.resident_bytes(), kOfOthers);
  EXPECT_EQ(Ask(*table, 1), FilterAnswer::kNotAsked);
  EXPECT_FALSE(*units->LoadNext(FilterLedger::Claim::kFirstUnit));
  GiveRoom(&ledger);
  int before = kNumKeys;
  uint64_t resident = 0;
  for (size_t i = 0; i < 3; i++) {
    ASSERT_TRUE(*units->LoadNext(FilterLedger::Claim::kFurtherUnit));
    resident += units->units()[i].bytes;
    EXPECT_EQ(ledger.resident_bytes(), resident);
    EXPECT_EQ(table->filter_memory_bytes(), resident);
    const int passing = Passing(*table);
    EXPECT_LT(passing, before / 3 + 2);
    before = passing;
  }
  EXPECT_FALSE(*units->LoadNext(FilterLedger::Claim::kFurtherUnit));
  units->DropTo(1);
  EXPECT_EQ(ledger.resident_bytes(), units->units()[0].bytes);
  EXPECT_GT(Passing(*table), before);
}

TEST(FilterUnits, AFilterWithoutAListIsOneUnitThatIsReadLater) {
  const std::string bytes = BuildTable(Keys(), With("blocked_bloom:10")).bytes;
  FilterLedger ledger(kScant);
  TakeAllRoom(&ledger);
  const auto table = OpenWith(&ledger, bytes);
  FilterUnits* const units = table->filter_units();
  ASSERT_NE(units, nullptr);
  EXPECT_FALSE(table->filter_description().in_units);
  ASSERT_EQ(units->units().size(), 1u);
  EXPECT_EQ(Ask(*table, 1), FilterAnswer::kNotAsked);
  GiveRoom(&ledger);
  ASSERT_TRUE(*units->LoadNext(FilterLedger::Claim::kFirstUnit));
  EXPECT_LT(Passing(*table), 60);
  EXPECT_EQ(ledger.resident_bytes(), units->units()[0].bytes);
  EXPECT_EQ(units->units()[0].bytes, table->figures().filter_bytes + kBlockTrailerBytes);

  const auto at_once = OpenWith(&ledger, bytes);
  EXPECT_EQ(at_once->filter_units()->num_resident(), 1u);
  EXPECT_LT(Passing(*at_once), 60);
  EXPECT_EQ(ledger.resident_bytes(), 2 * units->units()[0].bytes);
}

TEST(FilterUnits, WithoutABudgetAFilterWithoutAListIsOnlyCounted) {
  const std::string bytes = BuildTable(Keys(), With("blocked_bloom:10")).bytes;
  FilterLedger ledger(0);
  {
    const auto table = OpenWith(&ledger, bytes);
    EXPECT_EQ(table->filter_units(), nullptr);
    EXPECT_EQ(ledger.resident_bytes(), table->filter_memory_bytes());
    EXPECT_LT(Passing(*table), 60);
  }
  EXPECT_EQ(ledger.resident_bytes(), 0u);
}

TEST(FilterUnits, OfAFilterFileTakeThePlaceOfTheTablesOwn) {
  const std::string bytes = BuildTable(Keys(), With("blocked_bloom", {5, 5, 5})).bytes;
  const std::string file = FilterFileOf("ribbon", {4, 4});
  FilterLedger ledger(kAmple);
  const auto table = OpenWith(&ledger, bytes, *OpenFilterFile(file));
  FilterUnits* const units = table->filter_units();
  ASSERT_NE(units, nullptr);
  EXPECT_EQ(units->file().path(), "f.flt");
  EXPECT_EQ(units->units().size(), 2u);
  EXPECT_EQ(units->num_resident(), 2u);
  EXPECT_EQ(table->filter_kind(), filter::FilterKind::kRibbon);
  EXPECT_EQ(ledger.resident_bytes(), units->units()[0].bytes + units->units()[1].bytes);
  EXPECT_LT(Passing(*table), 30);
  units->DropTo(1);
  EXPECT_EQ(ledger.resident_bytes(), units->units()[0].bytes);
  EXPECT_GT(Passing(*table), 20);
  ASSERT_TRUE(*units->LoadNext(FilterLedger::Claim::kFurtherUnit)) << "the file is still open";
  EXPECT_LT(Passing(*table), 30);
}

TEST(FilterUnits, AFilterFileWithoutAListIsOneUnit) {
  const std::string bytes = BuildTable(Keys(), With("blocked_bloom", {5, 5, 5})).bytes;
  const std::string file = FilterFileOf("ribbon:1%", {});
  FilterLedger ledger(kScant);
  TakeAllRoom(&ledger);
  const auto table = OpenWith(&ledger, bytes, *OpenFilterFile(file));
  FilterUnits* const units = table->filter_units();
  ASSERT_NE(units, nullptr);
  EXPECT_EQ(units->units().size(), 1u);
  EXPECT_FALSE(table->filter_description().in_units);
  EXPECT_EQ(Ask(*table, 1), FilterAnswer::kNotAsked);
  GiveRoom(&ledger);
  ASSERT_TRUE(*units->LoadNext(FilterLedger::Claim::kFirstUnit));
  EXPECT_LT(Passing(*table), 40);
}

// Whichever byte of the block it is, no key is denied, and nothing is tried for ever.
TEST(FilterUnits, DamageThatIsFoundLaterCostsItsUnitAlone) {
  const std::string table_bytes = BuildTable(Keys(), With("blocked_bloom:10")).bytes;
  for (const bool listed : {true, false}) {
    const std::string sound =
        listed ? FilterFileOf("bloom", {5, 5, 5}) : FilterFileOf("bloom:10", {});
    const BlockHandle block = (*OpenFilterFile(sound))->header().filter_block();
    for (uint64_t at = block.offset + 64; at < block.offset + block.size; at += 37) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      FilterLedger ledger(kScant);
      TakeAllRoom(&ledger);
      const auto table = OpenWith(&ledger, table_bytes, *OpenFilterFile(damaged));
      FilterUnits* const units = table->filter_units();
      ASSERT_NE(units, nullptr);
      EXPECT_EQ(table->filter_state().code, filter::FilterStateCode::kOk) << "nothing is read yet";
      GiveRoom(&ledger);
      int num_damaged = 0;
      while (units->num_resident() < units->units().size()) {
        const absl::StatusOr<bool> loaded = units->LoadNext(FilterLedger::Claim::kFurtherUnit);
        ASSERT_TRUE(loaded.ok() ? *loaded : absl::IsDataLoss(loaded.status())) << loaded.status();
        if (!loaded.ok()) {
          EXPECT_TRUE(loaded.status().message().find("f.flt") == 0);
        }
        num_damaged += loaded.ok() ? 0 : 1;
      }
      EXPECT_EQ(num_damaged, 1) << at;
      const int passing = Passing(*table);
      if (listed) {
        EXPECT_LT(passing, 200) << "the two other units go on";
      }
      // What is refused takes no memory.
      EXPECT_LE(ledger.resident_bytes(), listed ? block.size * 7 / 10 : 0) << at;
    }
  }
}

// Says that it is longer than it is, as one that was cut after it was opened.
class CutFile final : public RandomAccessFile {
 public:
  CutFile(std::string bytes, uint64_t missing) : bytes_(std::move(bytes)), missing_(missing) {}
  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    const uint64_t end = bytes_.size() - missing_;
    const size_t available = std::min<uint64_t>(length, end - std::min(offset, end));
    std::memcpy(buffer, bytes_.data() + offset, available);
    return available;
  }
  uint64_t size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
  const uint64_t missing_;
};

TEST(FilterUnits, AFileThatHasLostItsEndIsDamagedAndNotTriedForEver) {
  const std::string sound = FilterFileOf("bloom", {5, 5, 5});
  const FilterFileHeader header = (*OpenFilterFile(sound))->header();
  BlockFile file(std::make_unique<CutFile>(sound, 100), std::string("f.flt"));
  FilterLedger ledger(kAmple);
  FilterUnits units({&file, header.filter_block(), kSeed, /*made_by_policy=*/false}, header.units,
                    &ledger);
  EXPECT_TRUE(*units.LoadNext(FilterLedger::Claim::kFirstUnit));
  EXPECT_TRUE(*units.LoadNext(FilterLedger::Claim::kFurtherUnit));
  EXPECT_TRUE(absl::IsDataLoss(units.LoadNext(FilterLedger::Claim::kFurtherUnit).status()));
  EXPECT_EQ(units.num_resident(), 3u);
  EXPECT_FALSE(*units.LoadNext(FilterLedger::Claim::kFurtherUnit));
  EXPECT_TRUE(units.MayContain(filter::HashKey(KeyAt(0), kSeed)));
}

// Which no sum of anything shows, nor any unit that is in memory.
TEST(FilterUnits, VerifyAsksEachUnitWhetherItIsInMemoryOrNot) {
  constexpr int kForgotten = 1000;
  const std::string table_bytes = BuildTable(Keys(), With("blocked_bloom:10")).bytes;
  const std::string sound = FilterFileOf("bloom", {5, 5});
  const FilterFileHeader header = (*OpenFilterFile(sound))->header();
  auto builder = *filter::FilterBuilder::Create(Spec("bloom"), kSeed);
  builder->set_unit_bits({5, 5});
  for (int i = 0; i < kNumKeys; i += 2) {
    builder->Add(filter::HashKey(i == kForgotten ? "another" : KeyAt(i), kSeed));
  }
  const filter::BuiltFilter forgets = builder->Finish();
  for (size_t unit = 0; unit < 2; unit++) {
    // Its bytes and its entry in the list from the filter that lacks the key.
    FilterFileHeader mixed = header;
    mixed.units[unit] = forgets.units[unit];
    ASSERT_EQ(mixed.units[unit].bytes, header.units[unit].bytes);
    const uint64_t at = filter::kFilterBlockHeaderBytes + (unit == 0 ? 0 : header.units[0].bytes);
    filter::BuiltFilter built;
    built.block = sound.substr(header.header_bytes(), header.filter_bytes);
    built.block.replace(at, mixed.units[unit].bytes, forgets.block, at, mixed.units[unit].bytes);
    built.num_keys = kNumKeys / 2;
    const auto files = NewMemoryFileSystem();
    auto file = *files->Create("/f", {});
    ASSERT_TRUE(WriteFilterFile(built, &mixed, file.get()).ok());
    const std::string bytes = *ReadFile(*files, "/f", 1 << 20);
    FilterLedger ledger(kScant);
    TakeAllRoom(&ledger);
    const auto table = OpenWith(&ledger, table_bytes, *OpenFilterFile(bytes));
    ASSERT_EQ(table->filter_units()->num_resident(), 0u);
    EXPECT_TRUE((*OpenFilterFile(bytes))->Verify().empty());
    const std::vector<SstableProblem> problems = table->Verify();
    ASSERT_EQ(problems.size(), 1u) << unit;
    EXPECT_NE(problems[0].reason.find(KeyAt(kForgotten)), std::string::npos) << problems[0].reason;
    EXPECT_NE(problems[0].reason.find("the filter denies it"), std::string::npos);
  }
}

// Found when it is opened, the state says so, and callers go back to the table's own filter.
TEST(FilterUnits, DamageThatIsFoundAtOnceIsInTheState) {
  const std::string table_bytes = BuildTable(Keys(), With("blocked_bloom:10")).bytes;
  for (const bool listed : {true, false}) {
    std::string damaged = listed ? FilterFileOf("bloom", {5, 5, 5}) : FilterFileOf("bloom:10", {});
    const BlockHandle block = (*OpenFilterFile(damaged))->header().filter_block();
    damaged[block.offset + block.size / 2] ^= 1;
    FilterLedger ledger(kAmple);
    const auto table = OpenWith(&ledger, table_bytes, *OpenFilterFile(damaged));
    EXPECT_EQ(table->filter_state().code, filter::FilterStateCode::kDamaged);
    EXPECT_NE(table->filter_state().reason.find("f.flt"), std::string::npos);
    EXPECT_EQ(table->has_filter(), listed);
    Passing(*table);
  }
}

TEST(FilterUnits, AListThatDoesNotFillTheBlockIsDamage) {
  const std::string file = FilterFileOf("bloom", {5, 5});
  FilterFileHeader header = (*OpenFilterFile(file))->header();
  for (const int64_t change : {-64, 64}) {
    FilterFileHeader other = header;
    other.units[1].bytes += static_cast<uint64_t>(change);
    const std::string bytes = other.Encode() + file.substr(header.header_bytes());
    EXPECT_TRUE(absl::IsDataLoss(OpenFilterFile(bytes).status()));
  }
  FilterFileHeader wrapping = header;
  wrapping.units[0].bytes = uint64_t{0} - 64;
  EXPECT_TRUE(absl::IsDataLoss(
      OpenFilterFile(wrapping.Encode() + file.substr(header.header_bytes())).status()));
}

// A filter of keys that are not understood would be asked with the wrong hashes, sooner or later.
TEST(FilterUnits, KeysThatAreNotUnderstoodAreNeverAsked) {
  const std::string bytes = BuildTable(Keys(), With("blocked_bloom", {5, 5, 5})).bytes;
  std::string file = FilterFileOf("bloom", {5, 5});
  FilterFileHeader header = (*OpenFilterFile(file))->header();
  const size_t header_bytes = header.header_bytes();
  header.filter_key = "suffi";
  file = header.Encode() + file.substr(header_bytes);
  FilterLedger ledger(kAmple);
  const auto table = OpenWith(&ledger, bytes, *OpenFilterFile(file));
  EXPECT_EQ(table->filter_units(), nullptr);
  EXPECT_FALSE(table->has_filter());
  EXPECT_EQ(Ask(*table, 1), FilterAnswer::kNotAsked);
  EXPECT_EQ(ledger.resident_bytes(), 0u);
}

}  // namespace
}  // namespace winnow::filter_units
