// A database that holds every kind of record of the present format: how it is written, and what it
// must hold.
#ifndef WINNOW_TESTS_ENGINE_DB_EVERY_RECORD_H_
#define WINNOW_TESTS_ENGINE_DB_EVERY_RECORD_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/coding.h"
#include "engine/log/log_reader.h"
#include "engine/version/file_names.h"
#include "tests/support/verify_messages.h"
#include "winnow/db.h"
#include "winnow/ingest.h"
#include "winnow/merge_operator.h"
#include "winnow/refilter.h"
#include "winnow/transaction.h"

namespace winnow {
inline constexpr int kRecords = 300;

inline std::string RecordKey(std::string_view prefix, int number) {
  return absl::StrFormat("%s%05d", std::string(prefix), number);
}

inline std::string Fixed64(uint64_t number) {
  std::string bytes;
  PutFixed64(&bytes, number);
  return bytes;
}

inline absl::Status ForEachRecord(const std::function<absl::Status(int)>& call) {
  for (int i = 0; i < kRecords; i++) {
    if (absl::Status status = call(i); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Plain values, counters made of operands, values that expire in a hundred years, and a family with
// options of its own.
struct RecordFamilies {
  explicit RecordFamilies(DB& db)
      : counts(db.FindColumnFamily("counts").value_or(nullptr)),
        events(db.FindColumnFamily("events").value_or(nullptr)),
        styled(db.FindColumnFamily("styled").value_or(nullptr)) {}

  ColumnFamily* const counts;
  ColumnFamily* const events;
  ColumnFamily* const styled;
};

inline void CreateRecordFamilies(DB& db, const Options& inherited) {
  ColumnFamilyOptions counts = inherited;
  counts.merge_operator = *ParseMergeOperator("uint64_add");
  counts.filter = "cuckoo";
  ASSERT_TRUE(db.CreateColumnFamily(counts, "counts").ok());
  ColumnFamilyOptions events = inherited;
  events.ttl_seconds = kMaxTtlSeconds;
  events.filter = "blocked_bloom+range:12";
  events.filter_key = "whole+prefix:4";
  events.key_hashes_ratio = 1;
  ASSERT_TRUE(db.CreateColumnFamily(events, "events").ok());
  ColumnFamilyOptions styled = inherited;
  styled.filter = "binary_fuse";
  styled.compaction = *ParseCompactionStyle("tiered");
  styled.compression_per_level = {Compression::kNone, Compression::kLz4, Compression::kZstd};
  ASSERT_TRUE(db.CreateColumnFamily(styled, "styled").ok());
  ASSERT_TRUE(db.DropColumnFamily(*db.CreateColumnFamily(inherited, "dropped")).ok());
}

// At the last level, and above it what changes them.
inline void WriteTables(DB& db, const RecordFamilies& families, const std::string& outside) {
  const WriteOptions write;
  ASSERT_TRUE(ForEachRecord([&](int i) {
                return db.Put(write, RecordKey("key", i), absl::StrCat("value of ", i));
              }).ok());
  ASSERT_TRUE(db.CompactRange(std::nullopt, std::nullopt).ok());
  ASSERT_TRUE(db.Delete(write, RecordKey("key", 10)).ok());
  ASSERT_TRUE(db.DeleteRange(write, RecordKey("key", 100), RecordKey("key", 150)).ok());
  ASSERT_TRUE(db.Flush().ok());

  ASSERT_TRUE(ForEachRecord([&](int i) {
                return db.Put(write, families.counts, RecordKey("count", i),
                              Fixed64(static_cast<uint64_t>(i)));
              }).ok());
  ASSERT_TRUE(db.CompactRange(families.counts, std::nullopt, std::nullopt).ok());
  ASSERT_TRUE(ForEachRecord([&](int i) {
                return db.Merge(write, families.counts, RecordKey("count", i), Fixed64(1));
              }).ok());
  ASSERT_TRUE(db.Flush(families.counts).ok());

  ASSERT_TRUE(ForEachRecord([&](int i) {
                return db.Put(write, families.events, RecordKey("event", i),
                              absl::StrCat("happened ", i));
              }).ok());
  ASSERT_TRUE(db.CompactRange(families.events, std::nullopt, std::nullopt).ok());
  RefilterOptions refilter;
  refilter.filter = "ribbon+range:12";
  ASSERT_TRUE(db.Refilter(families.events, refilter).ok());

  ASSERT_TRUE(ForEachRecord([&](int i) {
                return db.Put(write, families.styled, RecordKey("style", i), std::string(50, 's'));
              }).ok());
  ASSERT_TRUE(db.CompactRange(families.styled, std::nullopt, std::nullopt).ok());

  auto writer = SstWriter::Create(ColumnFamilyOptions(), outside);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(ForEachRecord([&](int i) {
                return (*writer)->Put(RecordKey("brought", i), absl::StrCat("in ", i));
              }).ok());
  ASSERT_TRUE((*writer)->Delete(RecordKey("key", 20)).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto ingested = db.Ingest({{.path = outside}}, {.move = true});
  ASSERT_TRUE(ingested.ok()) << ingested.status();
}

// What only the log holds.
inline void WriteLogRecords(DB& db, const RecordFamilies& families) {
  WriteBatch batch;
  batch.Put("logged", "value");
  batch.Delete(RecordKey("key", 30));
  batch.DeleteRange(RecordKey("key", 200), RecordKey("key", 210));
  batch.Merge(families.counts, RecordKey("count", 1), Fixed64(1000));
  batch.Put(families.events, "logged", "value");
  ASSERT_TRUE(db.Write(WriteOptions(), batch).ok());
  auto transaction = db.BeginTransaction(TransactionOptions());
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  ASSERT_TRUE((*transaction)->Put(db.DefaultColumnFamily(), "committed", "together").ok());
  ASSERT_TRUE((*transaction)->Commit(WriteOptions()).ok());
}

inline void WriteEveryRecord(const std::string& path) {
  Options options;
  options.info_log_bytes = 0;
  options.disable_auto_compactions = true;
  options.filter_memory_budget = 256 << 10;
  auto db = DB::Open(options, path);
  ASSERT_TRUE(db.ok()) << db.status();
  ASSERT_NO_FATAL_FAILURE(CreateRecordFamilies(**db, options));
  const RecordFamilies families(**db);
  ASSERT_NO_FATAL_FAILURE(WriteTables(**db, families, path + ".outside"));
  ASSERT_TRUE((*db)->SetOption(families.styled, "block_bytes", "1K").ok());
  ASSERT_TRUE((*db)->SetOption("max_log_bytes", "2M").ok());
  ASSERT_NO_FATAL_FAILURE(WriteLogRecords(**db, families));
  ASSERT_TRUE((*db)->Close().ok());
  db->reset();
  // Counts of one run, and no part of what is kept.
  for (const char* name : {"LOCK", "STATISTICS"}) std::filesystem::remove(path + "/" + name);
}

inline bool IsDeletedRecord(int i) {
  return i == 10 || i == 20 || i == 30 || (i >= 100 && i < 150) || (i >= 200 && i < 210);
}

inline std::string RecordAt(DB& db, ColumnFamily* family, const std::string& key) {
  std::string value;
  const absl::Status status = db.Get(ReadOptions(), family, key, &value);
  return status.ok() ? value : absl::IsNotFound(status) ? "(absent)" : status.ToString();
}

inline void CheckRecords(DB& db) {
  const RecordFamilies families(db);
  ASSERT_TRUE(families.counts != nullptr && families.events != nullptr &&
              families.styled != nullptr);
  EXPECT_TRUE(absl::IsNotFound(db.FindColumnFamily("dropped").status()));
  ColumnFamily* const plain = db.DefaultColumnFamily();
  for (int i = 0; i < kRecords; i++) {
    SCOPED_TRACE(i);
    EXPECT_EQ(RecordAt(db, plain, RecordKey("key", i)),
              IsDeletedRecord(i) ? "(absent)" : absl::StrCat("value of ", i));
    EXPECT_EQ(RecordAt(db, plain, RecordKey("brought", i)), absl::StrCat("in ", i));
    EXPECT_EQ(RecordAt(db, families.counts, RecordKey("count", i)),
              Fixed64(static_cast<uint64_t>(i == 1 ? 1002 : i + 1)));
    EXPECT_EQ(RecordAt(db, families.events, RecordKey("event", i)), absl::StrCat("happened ", i));
    EXPECT_EQ(RecordAt(db, families.styled, RecordKey("style", i)), std::string(50, 's'));
  }
  EXPECT_EQ(RecordAt(db, plain, "logged"), "value");
  EXPECT_EQ(RecordAt(db, plain, "committed"), "together");
  EXPECT_EQ(RecordAt(db, families.events, "logged"), "value");
  EXPECT_TRUE(VerifyMessages(db).empty());
}

using StepAnswer = ExplainStep::Answer;
using StepSource = ExplainStep::Source;

// What the first place that knows of the key says.
inline ExplainStep FirstAnswer(DB& db, ColumnFamily* family, const std::string& key) {
  const auto explained = db.Explain(family, key);
  EXPECT_TRUE(explained.ok()) << explained.status();
  for (const ExplainStep& step : explained->steps) {
    if (step.answer != StepAnswer::kNotAsked && step.answer != StepAnswer::kAbsent) return step;
  }
  return ExplainStep();
}

// Which sorts of updates a log has.
class UpdateKinds final : public WriteBatch::Handler {
 public:
  absl::Status Put(uint32_t family, std::string_view, std::string_view) override {
    return Note(family, "put");
  }
  absl::Status Delete(uint32_t family, std::string_view) override { return Note(family, "delete"); }
  absl::Status Merge(uint32_t family, std::string_view, std::string_view) override {
    return Note(family, "merge");
  }
  absl::Status DeleteRange(uint32_t family, std::string_view, std::string_view) override {
    return Note(family, "delete-range");
  }
  std::set<std::string> kinds;

 private:
  absl::Status Note(uint32_t family, const char* kind) {
    kinds.insert(family == 0 ? kind : absl::StrCat("family's ", kind));
    return absl::OkStatus();
  }
};

inline std::set<std::string> KindsInLogs(const std::string& path) {
  UpdateKinds updates;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(entry.path().filename().string(), &type, &number)) continue;
    if (type != FileType::kLog) continue;
    auto reader = LogReader::Open(*PosixFileSystem(), entry.path().string(), number,
                                  LogRecoveryMode::kStrict);
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::string_view payload;
    while (reader.ok() && (*reader)->Read(&payload).value_or(false)) {
      if (payload.empty() || payload[0] != 1) continue;  // 1: a batch
      EXPECT_TRUE(WriteBatch::FromEncoded(payload.substr(1)).ForEach(updates).ok());
    }
  }
  return updates.kinds;
}

// Before anything was written to it by today's code.
inline void CheckThatEveryKindIsThere(const std::string& path) {
  EXPECT_EQ(KindsInLogs(path), (std::set<std::string>{"put", "delete", "delete-range",
                                                      "family's put", "family's merge"}));
  size_t filter_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    filter_files += entry.path().extension() == ".flt" ? 1 : 0;
  }
  EXPECT_EQ(filter_files, 1u);
  Options options;
  ASSERT_TRUE(DB::LoadOptions(path, &options).ok());
  EXPECT_EQ(options.filter_memory_budget, 256u << 10);
  EXPECT_EQ(options.max_log_bytes, 2u << 20);
  const ColumnFamilyOptions& styled = options.column_families.at("styled");
  EXPECT_EQ(styled.compaction.ToString(), "tiered");
  EXPECT_EQ(styled.compression_per_level.size(), 3u);
  EXPECT_EQ(styled.block_bytes, 1024u);
  EXPECT_EQ(options.column_families.at("events").filter, "ribbon+range:12");
  options.read_only = true;
  auto db = DB::Open(options, path);
  ASSERT_TRUE(db.ok()) << db.status();
  const RecordFamilies families(**db);
  ColumnFamily* const plain = (*db)->DefaultColumnFamily();
  const auto in_table = [&](ColumnFamily* family, const std::string& key) {
    const ExplainStep step = FirstAnswer(**db, family, key);
    EXPECT_EQ(step.source, StepSource::kSstable) << key;
    return step;
  };
  EXPECT_EQ(in_table(plain, RecordKey("key", 10)).answer, StepAnswer::kDeleted);
  EXPECT_EQ(in_table(plain, RecordKey("key", 120)).answer, StepAnswer::kRangeDeleted);
  EXPECT_EQ(in_table(families.counts, RecordKey("count", 2)).answer, StepAnswer::kOperand);
  EXPECT_TRUE(in_table(families.events, RecordKey("event", 5)).write_time_micros.has_value());
  EXPECT_EQ(in_table(plain, RecordKey("brought", 1)).sequence,
            in_table(plain, RecordKey("brought", 2)).sequence)
      << "one for all that was ingested";
  const ExplainStep logged = FirstAnswer(**db, families.events, "logged");
  EXPECT_NE(logged.source, StepSource::kSstable);
  EXPECT_TRUE(logged.write_time_micros.has_value());
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_DB_EVERY_RECORD_H_
