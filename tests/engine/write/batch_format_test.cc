// Holds batches and the payloads of log records to what engine/write/FORMAT.md says about them.
#include "engine/write/batch_format.h"

#include <gtest/gtest.h>

#include "engine/log/log_reader.h"
#include "engine/write/log_set.h"
#include "tests/support/annotated_dump.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// The payloads of the log that a new database writes for two writes, the first to two families.
std::vector<std::string> PayloadsOfExample() {
  const auto memory = NewMemoryFileSystem();
  Options options;
  options.file_system = memory.get();
  auto db = *DB::Open(options, "/db");
  ColumnFamily* const users = *db->CreateColumnFamily(options, "users");
  WriteBatch batch;
  batch.Put("k", "v");
  batch.Delete(users, "gone");
  batch.Put(users, "u", "");
  EXPECT_TRUE(db->Write(WriteOptions(), batch).ok());
  EXPECT_TRUE(db->Close().ok());
  auto reader =
      *LogReader::Open(*memory, "/db/000001.log", /*log_number=*/1, LogRecoveryMode::kStrict);
  std::vector<std::string> payloads;
  std::string_view payload;
  while (*reader->Read(&payload)) payloads.emplace_back(payload);
  return payloads;
}

std::string DumpOfExample(const std::vector<std::string>& payloads) {
  AnnotatedDump start(payloads.at(0));
  start.Field(1, "kind 2: log start");
  start.Field(8, "number of the log before: none");
  start.Field(8, "its records of batches");
  EXPECT_EQ(start.offset(), payloads[0].size());
  AnnotatedDump batch(payloads.at(1));
  batch.Field(1, "kind 1: batch");
  batch.Field(8, "sequence number of the first update");
  batch.Field(4, "number of updates");
  batch.Field(1, "put, default family");
  batch.Field(1, "length of the key");
  batch.Field(1, "\"k\"");
  batch.Field(1, "length of the value");
  batch.Field(1, "\"v\"");
  batch.Field(1, "delete, family id follows");
  batch.Field(1, "family 1");
  batch.Field(1, "length of the key");
  batch.Field(4, "\"gone\"");
  batch.Field(1, "put, family id follows");
  batch.Field(1, "family 1");
  batch.Field(1, "length of the key");
  batch.Field(1, "\"u\"");
  batch.Field(1, "length of the value");
  EXPECT_EQ(batch.offset(), payloads[1].size());
  return start.text() + "\n" + batch.text();
}

TEST(BatchFormat, TheExampleInFormatMdIsWhatIsWritten) {
  const std::string document =
      *ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/write/FORMAT.md", 1 << 20);
  const std::vector<std::string> payloads = PayloadsOfExample();
  ASSERT_EQ(payloads.size(), 2u);
  EXPECT_EQ(LastExampleOf(document), DumpOfExample(payloads));
}

TEST(BatchFormat, EveryTruncationOfABatchIsRefused) {
  const std::string batch = PayloadsOfExample().at(1).substr(1);
  for (size_t length = 0; length < batch.size(); length++) {
    BatchReader reader(std::string_view(batch).substr(0, length));
    BatchUpdate update;
    absl::Status status;
    for (bool more = true; status.ok() && more;) status = reader.Next(&update, &more);
    EXPECT_TRUE(absl::IsDataLoss(status)) << length << ": " << status;
  }
  const std::string with_a_byte_more = batch + "x";  // the reader borrows it
  BatchReader longer(with_a_byte_more);
  BatchUpdate update;
  absl::Status status;
  for (bool more = true; status.ok() && more;) status = longer.Next(&update, &more);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

}  // namespace
}  // namespace winnow
