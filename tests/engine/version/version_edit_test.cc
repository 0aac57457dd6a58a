// Version edits: what is encoded is decoded, and what is damaged is refused.
#include "engine/version/version_edit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "engine/base/coding.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

std::string Encoded(const VersionEdit& edit) {
  std::string bytes;
  edit.EncodeTo(&bytes);
  return bytes;
}

FileMetadata RandomFile(std::mt19937_64& random) {
  FileMetadata file;
  file.number = random() % kFileNumberLimit >> (random() % 60);
  file.file_id = random();
  file.file_bytes = random() >> (random() % 64);
  file.num_entries = random() % 1000;
  file.num_deletions = random() % 10;
  file.smallest_sequence = random() % 100;
  file.largest_sequence = kMaxSequenceNumber - random() % 100;
  file.smallest = MakeInternalKey(std::string(random() % 30, '\0'), 7, EntryType::kDelete);
  file.largest = MakeInternalKey(std::string(random() % 30, '\xff'), 5, EntryType::kPut);
  for (uint64_t times = std::min(random() % 5, file.num_entries); times > 0; times--) {
    file.write_times.Add(random() >> (random() % 64));
  }
  if (random() % 3 == 0) {
    file.key_times.emplace();
    for (uint64_t keys = random() % 4; keys > 0; keys--) {
      file.key_times->Add(
          {static_cast<TimedKeyKind>(random() % 3), random() >> (1 + random() % 63)});
    }
  }
  if (random() % 3 == 0) file.global_sequence = 1 + (random() % kMaxSequenceNumber);
  return file;
}

VersionEdit RandomEdit(std::mt19937_64& random) {
  VersionEdit edit;
  const auto maybe = [&] { return random() % 2 == 0; };
  if (maybe()) edit.hash_seed = random();
  if (maybe()) edit.next_file_number = random() % kFileNumberLimit;
  if (maybe()) edit.last_sequence = random() & kMaxSequenceNumber;
  if (maybe()) edit.largest_family_id = static_cast<uint32_t>(random() % kFamilyIdLimit);
  if (maybe()) edit.oldest_log = random() % kFileNumberLimit;
  if (maybe()) edit.newest_log = random() % kFileNumberLimit;
  if (maybe()) edit.options = {{"max_log_bytes", "2M"}, {"empty", ""}};
  for (uint64_t left = random() % 3; left > 0; left--) {
    FamilyEdit& family = edit.families.emplace_back();
    family.family_id = static_cast<uint32_t>(random() % kFamilyIdLimit);
    if (maybe()) family.name = std::string(random() % 255, 'n');
    if (maybe()) family.comparator = "winnow.bytewise";
    if (maybe()) family.merge_operator = "append:,";
    family.dropped = random() % 5 == 0;
    if (maybe()) family.filter = "bloom:10";
    if (maybe()) family.filter_key = "prefix:4";
    if (maybe()) family.ttl_seconds = random() % (kMaxTtlSeconds + 1);
    if (maybe()) family.options = {{"block_bytes", "8K"}, {"zstd_level", "9"}};
    if (maybe()) family.log_number = random() % kFileNumberLimit;
    for (uint64_t files = random() % 4; files > 0; files--) {
      FamilyEdit::AddedFile& added = family.added.emplace_back();
      added = {static_cast<int>(random() % kNumLevels), RandomFile(random)};
      if (added.level == 0) added.file.epoch_number = 1 + (random() % (kEpochNumberLimit - 1));
      family.deleted.push_back(
          {static_cast<int>(random() % kNumLevels), random() % kFileNumberLimit});
    }
  }
  return edit;
}

TEST(VersionEdit, DecodesWhatWasEncoded) {
  for (const uint64_t seed : Seeds(300)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const VersionEdit edit = RandomEdit(random);
    const auto decoded = VersionEdit::Decode(Encoded(edit));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    ASSERT_EQ(decoded->DebugString(), edit.DebugString());
    ASSERT_EQ(Encoded(*decoded), Encoded(edit));
  }
}

// A prefix is either an error or the edit of just those fields: never something else.
TEST(VersionEdit, EveryTruncationIsAnErrorOrEndsBetweenTwoFields) {
  for (const uint64_t seed : Seeds(20)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::string bytes = Encoded(RandomEdit(random));
    for (size_t length = 0; length < bytes.size(); length++) {
      const std::string prefix = bytes.substr(0, length);
      const auto decoded = VersionEdit::Decode(prefix);
      if (decoded.ok()) {
        ASSERT_EQ(Encoded(*decoded), prefix);
      } else {
        ASSERT_TRUE(absl::IsInvalidArgument(decoded.status())) << decoded.status().ToString();
      }
    }
  }
}

TEST(VersionEdit, FlippedBytesNeverCrashTheDecoder) {
  for (const uint64_t seed : Seeds(200)) {
    std::mt19937_64 random(seed);
    std::string bytes = Encoded(RandomEdit(random));
    for (int flips = 0; flips < 20 && !bytes.empty(); flips++) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
      const auto decoded = VersionEdit::Decode(bytes);
      if (decoded.ok()) decoded->DebugString();
    }
  }
}

// None, one that cannot be counted up, one of a deeper level, and one of no file.
TEST(VersionEdit, ImpossibleKeyTimesAreRefused) {
  const auto with_field = [](bool has_file, std::initializer_list<uint64_t> numbers) {
    VersionEdit edit;
    FamilyEdit& family = edit.families.emplace_back();
    FileMetadata file;
    file.smallest = file.largest = MakeInternalKey("k", 1, EntryType::kPut);
    if (has_file) family.added.push_back({1, file});
    std::string content;
    for (const uint64_t number : numbers) PutVarint64(&content, number);
    std::string bytes = Encoded(edit);
    PutVarint32(&bytes, 1002);
    PutLengthPrefixed(&bytes, content);
    return VersionEdit::Decode(bytes);
  };
  const auto decoded = with_field(true, {9, 0, 5, 8});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->families[0].added[0].file.key_times,
            (KeyTimes{.oldest = 8, .end = 9, .marker_end = 0, .far_marker_end = 5}));
  EXPECT_TRUE(with_field(true, {0, 3, 0}).ok());
  EXPECT_TRUE(with_field(true, {9, 0, 5, 8, 77}).ok()) << "fields may grow";
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(true, {9, 0, 5, 9}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(true, {9, 0, 5}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(true, {9}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(false, {9, 0, 5, 8}).status()));
}

TEST(VersionEdit, ImpossibleEpochNumbersAreRefused) {
  const auto with_field = [](int level, uint64_t number) {
    VersionEdit edit;
    FamilyEdit& family = edit.families.emplace_back();
    if (level >= 0) {
      FileMetadata file;
      file.smallest = file.largest = MakeInternalKey("k", 1, EntryType::kPut);
      family.added.push_back({level, file});
    }
    std::string content;
    PutVarint64(&content, number);
    std::string bytes = Encoded(edit) + "\x15";
    PutLengthPrefixed(&bytes, content);
    return VersionEdit::Decode(bytes);
  };
  const auto decoded = with_field(0, 7);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->families[0].added[0].file.epoch_number, 7u);
  EXPECT_TRUE(with_field(0, kEpochNumberLimit - 1).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(0, 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(0, kEpochNumberLimit).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(1, 7).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(with_field(-1, 7).status()));
}

// Times of no entry, of more entries than there are, of no file, and the newest before the oldest.
TEST(VersionEdit, ImpossibleWriteTimesAreRefused) {
  VersionEdit edit;
  FamilyEdit& family = edit.families.emplace_back();
  FileMetadata file;
  file.num_entries = 2;
  file.smallest = file.largest = MakeInternalKey("k", 1, EntryType::kPutWithTime);
  family.added.push_back({1, file});
  const std::string bytes = Encoded(edit);
  const auto field = [](std::string_view content) {
    return "\x12" + std::string(1, static_cast<char>(content.size())) + std::string(content);
  };
  const auto code = [](const std::string& encoded) {
    return VersionEdit::Decode(encoded).status().code();
  };
  EXPECT_EQ(code(bytes + field({"\x02\x05\x07", 3})), absl::StatusCode::kOk);
  for (const std::string_view wrong :
       {std::string_view("\x00\x05\x07", 3), std::string_view("\x03\x05\x07", 3),
        std::string_view("\x02\x07\x05", 3), std::string_view("\x02\x07", 2)}) {
    EXPECT_EQ(code(bytes + field(wrong)), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code(field({"\x02\x05\x07", 3})), absl::StatusCode::kInvalidArgument);
}

std::string Field(uint32_t tag, std::string_view content) {
  std::string bytes;
  PutVarint32(&bytes, tag);
  PutLengthPrefixed(&bytes, content);
  return bytes;
}

TEST(VersionEdit, FieldsOfNewerVersionsAreSkippedOnlyIfTheyMayBe) {
  VersionEdit edit;
  edit.next_file_number = 12;
  const auto skipped = VersionEdit::Decode(Encoded(edit) + Field(5000, "whatever"));
  ASSERT_TRUE(skipped.ok());
  EXPECT_EQ(skipped->DebugString(), edit.DebugString());
  const auto refused = VersionEdit::Decode(Encoded(edit) + Field(999, "whatever"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status().ToString();
  EXPECT_FALSE(VersionEdit::Decode(Field(0, "")).ok());
}

TEST(VersionEdit, OptionsOfTheDatabaseAndOfEachFamilyAreKeptApart) {
  VersionEdit edit;
  edit.options = {{"max_log_bytes", "2M"}};
  edit.families.resize(2);
  edit.families[1].family_id = 1;
  edit.families[1].options = {{"filter_of_tomorrow", "a=b"}};
  const auto decoded = VersionEdit::Decode(Encoded(edit));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->options, edit.options);
  EXPECT_TRUE(decoded->families[0].options.empty());
  EXPECT_EQ(decoded->families[1].options, edit.families[1].options);
}

TEST(VersionEdit, RefusesOptionsWithoutANameAndThoseOfNoFamily) {
  for (const char* text : {"", "name", "=text"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Field(1000, text)).status())) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(
        VersionEdit::Decode(Field(5, std::string(1, '\0')) + Field(1001, text)).status()))
        << text;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Field(1001, "a=b")).status()));
}

TEST(VersionEdit, RefusesAFileOnALevelThatDoesNotExist) {
  VersionEdit edit;
  FamilyEdit& family = edit.families.emplace_back();
  std::mt19937_64 random(1);
  family.added.push_back({kNumLevels, RandomFile(random)});
  EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Encoded(edit)).status()));
  family.added.clear();
  family.deleted.push_back({kNumLevels, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Encoded(edit)).status()));
}

TEST(VersionEdit, RefusesKeysTooShortToBeInternalKeys) {
  VersionEdit edit;
  std::mt19937_64 random(1);
  FileMetadata file = RandomFile(random);
  file.largest = "short";
  edit.families.emplace_back().added.push_back({0, file});
  EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Encoded(edit)).status()));
}

TEST(VersionEdit, RefusesGlobalSequencesThatAreNone) {
  for (const uint64_t sequence :
       {uint64_t{0}, uint64_t{1}, kMaxSequenceNumber, kMaxSequenceNumber + 1, UINT64_MAX}) {
    std::mt19937_64 random(1);
    VersionEdit plain;
    FileMetadata file = RandomFile(random);
    file.global_sequence = 0;
    plain.families.emplace_back().added.push_back({1, file});
    // The field of the file alone, as field 16 has it behind the number.
    const std::string whole = Encoded(plain);
    std::string_view bytes = whole;
    uint32_t tag;
    std::string_view content;
    ASSERT_TRUE(GetVarint32(&bytes, &tag) && GetLengthPrefixed(&bytes, &content));
    ASSERT_TRUE(GetVarint32(&bytes, &tag) && GetLengthPrefixed(&bytes, &content));
    std::string ingested;
    PutVarint64(&ingested, sequence);
    ingested += content;
    const auto decoded = VersionEdit::Decode(Field(5, std::string(1, '\0')) + Field(16, ingested));
    EXPECT_EQ(decoded.ok(), sequence >= 1 && sequence <= kMaxSequenceNumber) << sequence;
    if (!decoded.ok()) continue;
    EXPECT_EQ(decoded->families[0].added[0].file.global_sequence, sequence);
  }
}

TEST(VersionEdit, RefusesNumbersOutOfRangeAndFieldsWithoutAFamily) {
  VersionEdit edit;
  edit.last_sequence = kMaxSequenceNumber + 1;
  EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Encoded(edit)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(VersionEdit::Decode(Field(6, "name")).status()));
}

// After the largest number that 64 bits hold, files were numbered from 0 again.
TEST(VersionEdit, RefusesFileNumbersThatLeaveNoneForNewFiles) {
  for (const uint64_t number : {kFileNumberLimit - 1, kFileNumberLimit, UINT64_MAX}) {
    std::vector<VersionEdit> edits(4);
    edits[0].next_file_number = number;
    for (size_t i = 1; i < edits.size(); i++) edits[i].families.emplace_back().family_id = 1;
    edits[1].families[0].log_number = number;
    edits[2].families[0].deleted.push_back({0, number});
    std::mt19937_64 random(1);
    FileMetadata file = RandomFile(random);
    file.number = number;
    edits[3].families[0].added.push_back({0, file});
    for (const VersionEdit& edit : edits) {
      EXPECT_EQ(VersionEdit::Decode(Encoded(edit)).ok(), number < kFileNumberLimit)
          << edit.DebugString();
    }
  }
  FileType type;
  uint64_t number;
  EXPECT_TRUE(ParseFileName("1152921504606846975.sst", &type, &number));
  EXPECT_FALSE(ParseFileName("1152921504606846976.sst", &type, &number));
}

TEST(VersionEdit, RefusesFamilyIdsThatLeaveNoneForNewFamilies) {
  for (const uint32_t id : {kFamilyIdLimit - 1, kFamilyIdLimit}) {
    VersionEdit largest;
    largest.largest_family_id = id;
    VersionEdit family;
    family.families.emplace_back().family_id = id;
    for (const VersionEdit& edit : {largest, family}) {
      EXPECT_EQ(VersionEdit::Decode(Encoded(edit)).ok(), id < kFamilyIdLimit) << edit.DebugString();
    }
  }
}

// What has other names is a user's, whom an opening would rob.
TEST(FileNames, HaveSixDigitsAtLeast) {
  FileType type;
  uint64_t number;
  for (const char* name :
       {"000001.log", "1234567.sst", "000007.flt", "MANIFEST-000005", "000009.sst.tmp"}) {
    EXPECT_TRUE(ParseFileName(name, &type, &number)) << name;
    EXPECT_NE(number, 0u) << name;
  }
  for (const char* name : {"1.log", "2024.log", "7.sst", "00001.flt", "MANIFEST-5", "MANIFEST-",
                           "12345.sst.tmp", ".log"}) {
    EXPECT_FALSE(ParseFileName(name, &type, &number)) << name;
  }
}

}  // namespace
}  // namespace winnow
