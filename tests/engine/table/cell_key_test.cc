// Keys of cells: their bytes, their order, and what is none.
#include "engine/table/cell_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "engine/table/cell_value.h"

namespace winnow {
namespace {

std::string CellKey(std::string_view row, std::string_view qualifier, uint64_t timestamp,
                    CellKind kind = CellKind::kVersion) {
  std::string key;
  AppendCellPrefix(row, &key);
  AppendQualifier(qualifier, &key);
  AppendCellNumber(timestamp, kind, &key);
  return key;
}

std::string RowMarkerKey(std::string_view row, uint64_t timestamp) {
  std::string key;
  AppendRowMarkerPrefix(row, &key);
  AppendCellNumber(timestamp, CellKind::kMarker, &key);
  return key;
}

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

TEST(CellKey, IsTheBytesThatTheFormatSays) {
  EXPECT_EQ(Hex(CellKey("r", "q", 1)),
            "72"
            "0001"
            "71"
            "0001"
            "fffffffffffffffd");
  EXPECT_EQ(Hex(CellKey("r", "", kMaxTimestamp)),
            "72"
            "0001"
            "0001"
            "0000000000000003");
  EXPECT_EQ(Hex(CellKey(std::string("a\0b", 3), std::string(1, '\0'), 0, CellKind::kMarker)),
            "61"
            "00ff"
            "62"
            "0001"
            "00ff"
            "0001"
            "fffffffffffffffe");
  EXPECT_EQ(Hex(RowMarkerKey("r", 1)),
            "72"
            "0000"
            "fffffffffffffffc");
  EXPECT_EQ(CellKey("row", "column", 7).size(), 3u + 6u + 12u);
}

// Few letters, so that equal beginnings, zeros and ends abound.
std::string RandomText(std::mt19937_64& random, size_t min_bytes) {
  static constexpr char kLetters[] = {'\0', '\1', '\2', 'a', '\xfe', '\xff'};
  std::string text(min_bytes + random() % 4, '\0');
  for (char& letter : text) letter = kLetters[random() % sizeof(kLetters)];
  return text;
}

// Made at once, in a buffer that has held longer and shorter ones, as when it is made of its parts.
TEST(CellKey, IsMadeInPlaceOfAnother) {
  std::mt19937_64 random(4);
  std::string prefix;
  std::string key;
  for (int i = 0; i < 20'000; i++) {
    const std::string row = RandomText(random, 1);
    const std::string qualifier = RandomText(random, random() % 3 * 10);
    const uint64_t timestamp = random() >> 1 >> random() % 63;
    const CellKind kind = random() % 2 == 0 ? CellKind::kMarker : CellKind::kVersion;
    std::string row_prefix;
    AppendCellPrefix(row, &row_prefix);
    ASSERT_EQ(MakeColumnPrefix(row, qualifier, &prefix), row_prefix.size());
    MakeCellKey(row, qualifier, timestamp, kind, &key);
    const std::string expected = CellKey(row, qualifier, timestamp, kind);
    ASSERT_EQ(key, expected);
    ASSERT_EQ(prefix, expected.substr(0, expected.size() - kCellNumberBytes));
  }
}

TEST(CellKey, SortsAsRowColumnAndTimestampNewestFirstAndMarkersFirst) {
  // What a key means: row, whether it is a cell's, qualifier, how far from the newest, kind.
  using Meaning = std::tuple<std::string, bool, std::string, uint64_t, bool>;
  std::mt19937_64 random(1);
  const uint64_t timestamps[] = {
      0, 1, 255, 256, 1'700'000'000'000, kMaxTimestamp - 1, kMaxTimestamp};
  std::vector<std::pair<std::string, Meaning>> keys;
  for (int i = 0; i < 3000; i++) {
    const std::string row = RandomText(random, 1);
    const uint64_t timestamp = timestamps[random() % std::size(timestamps)];
    if (i % 5 == 0) {
      keys.emplace_back(RowMarkerKey(row, timestamp),
                        Meaning(row, false, "", kMaxTimestamp - timestamp, false));
      continue;
    }
    const std::string qualifier = RandomText(random, 0);
    const bool is_version = random() % 2 == 0;
    keys.emplace_back(
        CellKey(row, qualifier, timestamp, is_version ? CellKind::kVersion : CellKind::kMarker),
        Meaning(row, true, qualifier, kMaxTimestamp - timestamp, is_version));
  }
  std::sort(keys.begin(), keys.end());
  for (size_t i = 1; i < keys.size(); i++) {
    ASSERT_LE(keys[i - 1].second, keys[i].second)
        << Hex(keys[i - 1].first) << " " << Hex(keys[i].first);
    ASSERT_EQ(keys[i - 1].first == keys[i].first, keys[i - 1].second == keys[i].second);
  }
}

TEST(CellKey, IsReadBackAsItWasWritten) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; i++) {
    const std::string row = RandomText(random, 1);
    const std::string qualifier = RandomText(random, 0);
    const uint64_t timestamp = random() % (kMaxTimestamp + 1);
    const std::string key = CellKey(row, qualifier, timestamp);
    ParsedCellKey parsed;
    ASSERT_TRUE(ParseCellKey(key, &parsed)) << Hex(key);
    std::string text;
    AppendUnescaped(parsed.row, &text);
    EXPECT_EQ(text, row);
    text.clear();
    AppendUnescaped(parsed.qualifier, &text);
    EXPECT_EQ(text, qualifier);
    std::string room(parsed.qualifier.size(), '?');
    room.resize(Unescape(parsed.qualifier, room.data()));
    EXPECT_EQ(room, qualifier);
    ParsedCellKey with_known_row;
    ASSERT_TRUE(ParseCellKey(key, parsed.row.size(), &with_known_row));
    EXPECT_EQ(with_known_row.row, parsed.row);
    EXPECT_EQ(with_known_row.qualifier, parsed.qualifier);
    EXPECT_EQ(parsed.timestamp, timestamp);
    EXPECT_EQ(parsed.kind, CellKind::kVersion);
    EXPECT_FALSE(parsed.is_row_marker);

    const std::string marker = RowMarkerKey(row, timestamp);
    ASSERT_TRUE(ParseCellKey(marker, &parsed));
    EXPECT_TRUE(parsed.is_row_marker);
    EXPECT_EQ(parsed.timestamp, timestamp);
  }
}

TEST(CellKey, OtherBytesAreNoKey) {
  const std::string key = CellKey("row", "q", 5);
  ParsedCellKey parsed;
  for (size_t bytes = 0; bytes < key.size(); bytes++) {
    EXPECT_FALSE(ParseCellKey(key.substr(0, bytes), &parsed)) << bytes;
  }
  EXPECT_FALSE(ParseCellKey("x" + key.substr(3, 2) + key, &parsed)) << "two columns";
  EXPECT_FALSE(ParseCellKey(key.substr(3), &parsed)) << "an empty row";
  std::string timestamp_too_great = key.substr(0, key.size() - 8) + std::string(8, '\0');
  EXPECT_FALSE(ParseCellKey(timestamp_too_great, &parsed));
  std::string unknown_end = key;
  unknown_end[4] = '\2';
  EXPECT_FALSE(ParseCellKey(unknown_end, &parsed));
  std::string version_of_a_row = RowMarkerKey("row", 5);
  version_of_a_row.back() = static_cast<char>(version_of_a_row.back() | 1);
  EXPECT_FALSE(ParseCellKey(version_of_a_row, &parsed));
}

TEST(CellKey, EndOfPrefixIsBehindAllOfItAndBeforeTheNext) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; i++) {
    const std::string row = RandomText(random, 1);
    const std::string other = RandomText(random, 1);
    std::string prefix;
    AppendCellPrefix(row, &prefix);
    const std::string end = EndOfPrefix(prefix);
    const std::string key = CellKey(other, RandomText(random, 0), random() % 1000);
    EXPECT_EQ(key >= prefix && key < end, other == row) << Hex(key) << " " << Hex(end);
    EXPECT_LT(key, EndOfTable());
  }
  EXPECT_LT(CellKey(std::string(kMaxRowBytes, '\xff'), "q", 1), EndOfTable());
}

TEST(CellValue, HasItsWriteNumberAndTimeToLiveInFront) {
  std::string stored;
  AppendCellValue({.write_number = 5, .value = "text"}, &stored);
  EXPECT_EQ(Hex(stored),
            "0a"
            "74657874");
  stored.clear();
  AppendCellValue({.write_number = 64, .ttl_ms = 300, .value = ""}, &stored);
  EXPECT_EQ(Hex(stored),
            "8101"
            "ac02");
  CellValue cell;
  ASSERT_TRUE(ParseCellValue(stored, &cell));
  EXPECT_EQ(cell.write_number, 64u);
  EXPECT_EQ(cell.ttl_ms, 300u);
  EXPECT_EQ(cell.value, "");
  EXPECT_FALSE(ParseCellValue("", &cell));
  EXPECT_FALSE(ParseCellValue(stored.substr(0, 3), &cell));
  EXPECT_FALSE(ParseCellValue(std::string("\x81\x01\x00", 3), &cell)) << "no time to live of 0";
}

}  // namespace
}  // namespace winnow
