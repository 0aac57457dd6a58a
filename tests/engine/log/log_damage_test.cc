// What the reader makes of logs whose bytes are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/file_system/testing/recording_file_system.h"
#include "tests/engine/log/log_records.h"

namespace winnow {
namespace {

using testing::HasSubstr;

constexpr uint64_t kDamagedLogNumber = 5;

const std::vector<std::string>& Payloads() {
  static const std::vector<std::string> payloads = {
      "first", "", std::string(100, 'b'), "x", std::string(33, '\xff'), "the last"};
  return payloads;
}

// Offsets of the records of Payloads(), and the end of the last.
std::vector<uint64_t> RecordOffsets() {
  std::vector<uint64_t> offsets = {kLogFileHeaderBytes};
  for (const std::string& payload : Payloads()) {
    offsets.push_back(offsets.back() + kLogRecordHeaderBytes + payload.size());
  }
  return offsets;
}

// One past the last byte that is not zero, at least `from`.
uint64_t ContentEnd(std::string_view bytes, uint64_t from) {
  uint64_t end = bytes.size();
  while (end > from && bytes[end - 1] == '\0') end--;
  return end;
}

TEST(LogDamage, EveryTruncationGivesTheRecordsThatAreWhole) {
  const std::string whole = LogBytes(Payloads(), kDamagedLogNumber, false);
  const std::vector<uint64_t> offsets = RecordOffsets();
  for (size_t length = 0; length <= whole.size(); length++) {
    size_t expected_records = 0;
    while (expected_records < Payloads().size() && offsets[expected_records + 1] <= length) {
      expected_records++;
    }
    const uint64_t end_offset = length < kLogFileHeaderBytes ? 0 : offsets[expected_records];
    const std::string bytes = whole.substr(0, length);
    const uint64_t content_end = ContentEnd(bytes, end_offset);
    for (const LogRecoveryMode mode : kAllRecoveryModes) {
      const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, mode);
      ASSERT_TRUE(contents.status.ok()) << contents.status;
      ASSERT_EQ(contents.records, Prefix(Payloads(), expected_records)) << length;
      ASSERT_EQ(contents.end.kind,
                content_end == end_offset ? LogEnd::Kind::kUnclosed : LogEnd::Kind::kTornTail)
          << length;
      ASSERT_EQ(contents.end.offset, end_offset) << length;
      ASSERT_EQ(contents.end.bytes_dropped, content_end - end_offset) << length;
      ASSERT_EQ(contents.end.reason.empty(), content_end == end_offset) << length;
    }
  }
}

// Index of the record that holds the byte at `position`; the file header counts as -1.
int RecordAt(uint64_t position) {
  const std::vector<uint64_t> offsets = RecordOffsets();
  int index = -1;
  while (index + 1 < static_cast<int>(offsets.size()) &&
         offsets[static_cast<size_t>(index + 1)] <= position) {
    index++;
  }
  return index;
}

TEST(LogDamage, EveryBitFlipEndsTheLogAtTheFlippedRecord) {
  const std::string whole = LogBytes(Payloads(), kDamagedLogNumber, false);
  const std::vector<uint64_t> offsets = RecordOffsets();
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const int damaged = RecordAt(bit / 8);
    const bool is_last = damaged + 1 == static_cast<int>(Payloads().size());
    const uint64_t damage_offset = damaged < 0 ? 0 : offsets[static_cast<size_t>(damaged)];
    const std::vector<std::string> before =
        Prefix(Payloads(), static_cast<size_t>(std::max(damaged, 0)));

    const LogContents point_in_time =
        ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kPointInTime);
    ASSERT_TRUE(point_in_time.status.ok()) << point_in_time.status << " bit " << bit;
    ASSERT_EQ(point_in_time.records, before) << bit;
    ASSERT_EQ(point_in_time.end.kind, is_last ? LogEnd::Kind::kTornTail : LogEnd::Kind::kDamaged)
        << bit;
    ASSERT_EQ(point_in_time.end.valid_records_follow, !is_last) << bit;
    ASSERT_EQ(point_in_time.end.bytes_dropped, ContentEnd(bytes, damage_offset) - damage_offset);

    const LogContents strict = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kStrict);
    ASSERT_EQ(strict.records, before) << bit;
    if (is_last) {
      ASSERT_TRUE(strict.status.ok()) << strict.status;
    } else {
      ASSERT_TRUE(absl::IsDataLoss(strict.status)) << bit;
      ASSERT_THAT(std::string(strict.status.message()),
                  HasSubstr("/log: at offset " + std::to_string(damage_offset) + ":"));
    }
  }
}

TEST(LogDamage, SalvageLosesOnlyTheFlippedRecord) {
  const std::string whole = LogBytes(Payloads(), kDamagedLogNumber, false);
  const std::vector<uint64_t> offsets = RecordOffsets();
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const int damaged = RecordAt(bit / 8);
    std::vector<std::string> expected = Payloads();
    if (damaged >= 0) expected.erase(expected.begin() + damaged);

    const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kSalvage);
    ASSERT_TRUE(contents.status.ok()) << contents.status;
    ASSERT_EQ(contents.records, expected) << bit;
    if (damaged + 1 == static_cast<int>(Payloads().size())) {
      ASSERT_EQ(contents.end.kind, LogEnd::Kind::kTornTail);
      continue;
    }
    const uint64_t begin = damaged < 0 ? 0 : offsets[static_cast<size_t>(damaged)];
    const uint64_t end = offsets[static_cast<size_t>(damaged + 1)];
    ASSERT_EQ(contents.end.kind, LogEnd::Kind::kUnclosed) << bit;
    ASSERT_EQ(contents.end.skipped.size(), 1u) << bit;
    ASSERT_EQ(contents.end.skipped[0].offset, begin) << bit;
    ASSERT_EQ(contents.end.skipped[0].length, end - begin) << bit;
    ASSERT_EQ(contents.end.bytes_dropped, end - begin) << bit;
  }
}

TEST(LogDamage, AfterACleanCloseEveryFlipIsSeen) {
  const std::string whole = LogBytes(Payloads(), kDamagedLogNumber, true);
  const uint64_t marker_offset = RecordOffsets().back();
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const LogContents contents =
        ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kPointInTime);
    ASSERT_TRUE(contents.status.ok());
    ASSERT_NE(contents.end.kind, LogEnd::Kind::kCleanClose) << bit;
    if (bit / 8 >= marker_offset) {
      ASSERT_EQ(contents.records, Payloads());
    } else {
      ASSERT_EQ(contents.end.kind, LogEnd::Kind::kDamaged) << bit;
      const LogContents strict = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kStrict);
      ASSERT_TRUE(absl::IsDataLoss(strict.status)) << bit;
    }
  }
}

TEST(LogDamage, BytesAfterACleanCloseAreDamageAndZerosAreNot) {
  const std::string whole = LogBytes(Payloads(), kDamagedLogNumber, true);
  for (const size_t zeros : {0u, 1u, 4096u, 300000u}) {
    const std::string padded = whole + std::string(zeros, '\0');
    for (const LogRecoveryMode mode : kAllRecoveryModes) {
      const LogContents clean = ReadLogBytes(padded, kDamagedLogNumber, mode);
      EXPECT_EQ(clean.records, Payloads());
      EXPECT_EQ(clean.end.kind, LogEnd::Kind::kCleanClose);
      const LogContents dirty = ReadLogBytes(padded + "x", kDamagedLogNumber, mode);
      EXPECT_EQ(dirty.records, Payloads());
      if (mode == LogRecoveryMode::kStrict) {
        EXPECT_TRUE(absl::IsDataLoss(dirty.status));
      } else {
        EXPECT_EQ(dirty.end.kind, LogEnd::Kind::kDamaged);
        EXPECT_EQ(dirty.end.bytes_dropped, zeros + 1);
        EXPECT_FALSE(dirty.end.valid_records_follow);
      }
    }
  }
}

TEST(LogDamage, RecordsAfterACleanCloseAreDamageThatSalvageReads) {
  std::string bytes = LogBytes(Payloads(), kDamagedLogNumber, true);
  const std::vector<uint64_t> offsets = RecordOffsets();
  ASSERT_TRUE(Payloads()[1].empty());  // becomes a marker in the middle
  EncodeLogRecordHeader(bytes.data() + offsets[1], kLogRecordHeaderBytes,
                        LogRecordType::kCleanClose, kDamagedLogNumber, offsets[1]);

  const LogContents strict = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kStrict);
  EXPECT_TRUE(absl::IsDataLoss(strict.status));
  EXPECT_EQ(strict.records, Prefix(Payloads(), 1));

  const LogContents point_in_time =
      ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kPointInTime);
  EXPECT_EQ(point_in_time.records, Prefix(Payloads(), 1));
  EXPECT_EQ(point_in_time.end.kind, LogEnd::Kind::kDamaged);
  EXPECT_TRUE(point_in_time.end.valid_records_follow);

  std::vector<std::string> all_but_the_marker = Payloads();
  all_but_the_marker.erase(all_but_the_marker.begin() + 1);
  const LogContents salvaged = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kSalvage);
  EXPECT_EQ(salvaged.records, all_but_the_marker);
  EXPECT_EQ(salvaged.end.kind, LogEnd::Kind::kCleanClose);
  ASSERT_EQ(salvaged.end.skipped.size(), 1u);
  EXPECT_EQ(salvaged.end.skipped[0].length, 0u);
}

TEST(LogDamage, ZerosToTheEndAreTheEndOfAnUnclosedLog) {
  const std::string whole = LogBytes(Payloads(), kDamagedLogNumber, false);
  for (const size_t zeros : {1u, 16u, 17u, 18u, 4096u, 262144u, 600000u}) {
    for (const LogRecoveryMode mode : kAllRecoveryModes) {
      const LogContents contents =
          ReadLogBytes(whole + std::string(zeros, '\0'), kDamagedLogNumber, mode);
      EXPECT_EQ(contents.records, Payloads());
      EXPECT_EQ(contents.end.kind, LogEnd::Kind::kUnclosed);
      EXPECT_EQ(contents.end.bytes_dropped, 0u);
      EXPECT_EQ(contents.end.offset, whole.size());
    }
  }
}

TEST(LogDamage, AFileOfZerosIsAnUnclosedLogWithoutRecords) {
  for (const size_t size : {0u, 1u, 31u, 32u, 33u, 100000u}) {
    const LogContents contents =
        ReadLogBytes(std::string(size, '\0'), kDamagedLogNumber, LogRecoveryMode::kStrict);
    ASSERT_TRUE(contents.status.ok()) << contents.status;
    EXPECT_TRUE(contents.records.empty());
    EXPECT_EQ(contents.end.kind, LogEnd::Kind::kUnclosed);
  }
}

TEST(LogDamage, AHoleOfZerosIsNotTheEnd) {
  std::string bytes = LogBytes(Payloads(), kDamagedLogNumber, false);
  const std::vector<uint64_t> offsets = RecordOffsets();
  bytes.replace(offsets[2], offsets[4] - offsets[2], offsets[4] - offsets[2], '\0');
  const LogContents contents =
      ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kPointInTime);
  EXPECT_EQ(contents.records, Prefix(Payloads(), 2));
  EXPECT_EQ(contents.end.kind, LogEnd::Kind::kDamaged);
  EXPECT_TRUE(contents.end.valid_records_follow);
  EXPECT_EQ(contents.end.bytes_dropped, bytes.size() - offsets[2]);
}

TEST(LogDamage, StaleRecordsOfAnotherLogAreNeverReplayed) {
  const std::vector<uint64_t> offsets = RecordOffsets();
  const std::string ours = LogBytes(Payloads(), kDamagedLogNumber, false);
  // The second number agrees in the 32 bits that a record header has room for.
  for (const uint64_t other : {kDamagedLogNumber - 1, kDamagedLogNumber + (uint64_t{1} << 32)}) {
    const std::string stale = LogBytes(Payloads(), other, true);
    for (size_t kept = 0; kept < Payloads().size(); kept++) {
      const std::string bytes = ours.substr(0, offsets[kept]) + stale.substr(offsets[kept]);
      for (const LogRecoveryMode mode : kAllRecoveryModes) {
        const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, mode);
        ASSERT_TRUE(contents.status.ok()) << contents.status;
        ASSERT_EQ(contents.records, Prefix(Payloads(), kept));
        ASSERT_EQ(contents.end.kind, LogEnd::Kind::kTornTail);
      }
    }
  }
}

TEST(LogDamage, AnotherLogUnderThisNameIsRefused) {
  const std::string bytes = LogBytes(Payloads(), 9, true);
  for (const LogRecoveryMode mode : kAllRecoveryModes) {
    const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, mode);
    EXPECT_TRUE(absl::IsDataLoss(contents.status));
    EXPECT_THAT(std::string(contents.status.message()), HasSubstr("this is log 9"));
    EXPECT_TRUE(contents.records.empty());
  }
}

TEST(LogDamage, ANewerMajorVersionIsRefusedInEveryMode) {
  std::string bytes = LogBytes(Payloads(), kDamagedLogNumber, true);
  bytes[8] = static_cast<char>(kLogMajorVersion + 1);
  constexpr size_t kChecksumAt = kLogFileHeaderBytes - 8;
  EncodeFixed64(bytes.data() + kChecksumAt, Checksum(std::string_view(bytes).substr(0, kChecksumAt),
                                                     ChecksumSeed(kDamagedLogNumber, 0)));
  for (const LogRecoveryMode mode : kAllRecoveryModes) {
    const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, mode);
    EXPECT_TRUE(absl::IsFailedPrecondition(contents.status)) << contents.status;
    EXPECT_THAT(std::string(contents.status.message()), HasSubstr("/log: log format version 2"));
  }
}

TEST(LogDamage, SalvagePassesSeveralDamagedPlaces) {
  std::vector<std::string> payloads;
  for (int i = 0; i < 2000; i++) payloads.push_back("record " + std::string(700, 'a' + i % 26));
  std::string bytes = LogBytes(payloads, kDamagedLogNumber, true);
  const uint64_t record_bytes = kLogRecordHeaderBytes + payloads[0].size();
  std::vector<std::string> expected;
  for (size_t i = 0; i < payloads.size(); i++) {
    if (i % 100 == 50) {
      bytes[kLogFileHeaderBytes + i * record_bytes + i % record_bytes] ^= 0x10;
    } else {
      expected.push_back(payloads[i]);
    }
  }
  const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kSalvage);
  EXPECT_TRUE(contents.records == expected);
  EXPECT_EQ(contents.end.skipped.size(), 20u);
  EXPECT_EQ(contents.end.bytes_dropped, 20 * record_bytes);
  EXPECT_EQ(contents.end.kind, LogEnd::Kind::kCleanClose);
}

TEST(LogDamage, SalvageFindsARecordThatCrossesTheReadBuffer) {
  constexpr size_t kReadBytes = 256 << 10;
  for (size_t difference = 0; difference < 40; difference++) {
    const std::string large(kReadBytes - 30 + difference, 'l');
    std::string bytes = LogBytes({large, "next"}, kDamagedLogNumber, true);
    bytes[kLogFileHeaderBytes] ^= 1;
    const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kSalvage);
    ASSERT_EQ(contents.records, std::vector<std::string>{"next"}) << difference;
  }
}

TEST(LogDamage, SalvageDoesNotTakeALogInsideAPayloadForRecords) {
  const std::string inner = LogBytes(Payloads(), kDamagedLogNumber, true);
  std::string bytes = LogBytes({"before", inner, "after"}, kDamagedLogNumber, true);
  bytes[kLogFileHeaderBytes + kLogRecordHeaderBytes + 6] ^= 1;  // the second record's checksum
  const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kSalvage);
  EXPECT_EQ(contents.records, (std::vector<std::string>{"before", "after"}));
}

TEST(LogDamage, ALengthBeyondTheFileTakesNoMemory) {
  std::string bytes = LogBytes({"a"}, kDamagedLogNumber, false);
  EncodeFixed32(bytes.data() + kLogFileHeaderBytes + 12, 0x7fffffff);
  const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, LogRecoveryMode::kStrict);
  EXPECT_EQ(contents.end.kind, LogEnd::Kind::kTornTail);
  EXPECT_THAT(contents.end.reason, HasSubstr("beyond the end of the file"));
}

TEST(LogDamage, PlausibleHeadersAtEveryOffsetDoNotMakeTheSearchQuadratic) {
  // Each of the first 980,000 offsets looks like a record of 16 MiB: 16 TB to checksum.
  const LogContents contents =
      ReadLogBytes(std::string(17 << 20, '\x01'), 0x01010101, LogRecoveryMode::kSalvage);
  ASSERT_TRUE(contents.status.ok()) << contents.status;
  EXPECT_TRUE(contents.records.empty());
  EXPECT_EQ(contents.end.kind, LogEnd::Kind::kTornTail);
}

TEST(LogDamage, AReadErrorIsNeverTakenForTheEnd) {
  const std::vector<std::string> payloads(3, std::string(300000, 'p'));
  std::string damaged = LogBytes(payloads, kDamagedLogNumber, true);
  damaged[400000] ^= 1;
  for (const std::string& bytes : {LogBytes(payloads, kDamagedLogNumber, true), damaged}) {
    for (const LogRecoveryMode mode : kAllRecoveryModes) {
      const auto memory = std::make_unique<RecordingFileSystem>();
      StoreFile(*memory, "/log", bytes);
      const LogContents without_error = ReadLog(*memory, "/log", kDamagedLogNumber, mode);
      bool fired = true;
      for (int failing = 0; fired; failing++) {
        fired = false;
        int reads = 0;
        memory->set_error_hook([&](const FileOperation& operation) {
          if (operation.kind != FileOperation::Kind::kRead || reads++ != failing) {
            return absl::OkStatus();
          }
          fired = true;
          return absl::UnavailableError("injected read error");
        });
        const LogContents contents = ReadLog(*memory, "/log", kDamagedLogNumber, mode);
        if (fired) {
          EXPECT_TRUE(absl::IsUnavailable(contents.status)) << failing;
          EXPECT_LE(contents.records.size(), payloads.size());
        } else {
          EXPECT_EQ(contents.status, without_error.status);
          EXPECT_GE(failing, 3);
        }
      }
    }
  }
}

TEST(LogDamage, SalvageOfManyDamagedRecordsReadsTheLogAFewTimes) {
  constexpr size_t kNumRecords = 8192;
  constexpr size_t kPayloadBytes = 1000;
  constexpr size_t kDamagedOneIn = 128;
  std::string bytes =
      LogBytes(std::vector<std::string>(kNumRecords, std::string(kPayloadBytes, 'p')),
               kDamagedLogNumber, true);
  for (size_t i = 0; i < kNumRecords; i += kDamagedOneIn) {
    const size_t record = kLogFileHeaderBytes + i * (kLogRecordHeaderBytes + kPayloadBytes);
    bytes[record + kLogRecordHeaderBytes] = 'd';
  }
  const auto memory = std::make_unique<RecordingFileSystem>();
  memory->set_recording(false);
  StoreFile(*memory, "/log", bytes);
  uint64_t bytes_read = 0;
  memory->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == FileOperation::Kind::kRead) bytes_read += operation.length;
    return absl::OkStatus();
  });
  const LogContents contents =
      ReadLog(*memory, "/log", kDamagedLogNumber, LogRecoveryMode::kSalvage);
  ASSERT_TRUE(contents.status.ok()) << contents.status;
  EXPECT_EQ(contents.end.skipped.size(), kNumRecords / kDamagedOneIn);
  EXPECT_EQ(contents.records.size(), kNumRecords - kNumRecords / kDamagedOneIn);
  EXPECT_GT(bytes_read, bytes.size());
  EXPECT_LT(bytes_read, 8 * bytes.size());
}

// The header says another log, the records do not.
TEST(LogDamage, SalvageReadsRecordsBehindTheHeaderOfAnotherLog) {
  std::string bytes = LogBytes(Payloads(), kDamagedLogNumber, true);
  bytes.replace(0, kLogFileHeaderBytes, EncodeLogFileHeader(9));
  for (const LogRecoveryMode mode : kAllRecoveryModes) {
    const LogContents contents = ReadLogBytes(bytes, kDamagedLogNumber, mode);
    const bool salvage = mode == LogRecoveryMode::kSalvage;
    EXPECT_EQ(contents.status.ok(), salvage) << contents.status;
    EXPECT_EQ(contents.records.size(), salvage ? Payloads().size() : 0);
  }
}

// Its number and its checksums are right.
TEST(LogDamage, ALogOfAnotherDatabaseIsRefusedInEveryMode) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  StoreFile(*memory, "/log", LogBytes(Payloads(), {kDamagedLogNumber, 1}, true));
  for (const LogRecoveryMode mode : kAllRecoveryModes) {
    for (const uint64_t database : {0, 1, 2}) {
      const LogContents contents = ReadLog(*memory, "/log", {kDamagedLogNumber, database}, mode);
      EXPECT_EQ(contents.status.ok(), database != 2) << contents.status;
      EXPECT_EQ(contents.records.size(), database != 2 ? Payloads().size() : 0);
    }
  }
}

TEST(LogDamage, ARecordThatIsCutWhileItIsReadIsAnErrorNotTheEnd) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  StoreFile(*memory, "/log", LogBytes({std::string(1 << 20, 'p')}, kDamagedLogNumber, true));
  auto reader = LogReader::Open(*memory, "/log", kDamagedLogNumber, LogRecoveryMode::kSalvage);
  ASSERT_TRUE(reader.ok());
  StoreFile(*memory, "/log", "short");
  std::string_view payload;
  EXPECT_TRUE(absl::IsUnavailable((*reader)->Read(&payload).status()));
}

TEST(LogDamage, AnErrorIsReturnedAgain) {
  std::string bytes = LogBytes(Payloads(), kDamagedLogNumber, true);
  bytes[kLogFileHeaderBytes] ^= 1;
  const auto memory = std::make_unique<RecordingFileSystem>();
  StoreFile(*memory, "/log", bytes);
  auto reader = LogReader::Open(*memory, "/log", kDamagedLogNumber, LogRecoveryMode::kStrict);
  ASSERT_TRUE(reader.ok());
  std::string_view payload;
  EXPECT_TRUE(absl::IsDataLoss((*reader)->Read(&payload).status()));
  EXPECT_TRUE(absl::IsDataLoss((*reader)->Read(&payload).status()));
}

}  // namespace
}  // namespace winnow
