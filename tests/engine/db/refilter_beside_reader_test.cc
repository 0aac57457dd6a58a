// A database that is open read-only while another process writes to it, which replaces and removes
// filter files: for the reader none of that is damage.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/db/refilter_database.h"
#include "tests/support/verify_messages.h"

namespace winnow::refilter {
namespace {

constexpr char kNewerFilter[] = "cuckoo:12";

std::unique_ptr<DB> OpenBeside(MemoryDb& writer) {
  Options options = writer.options();
  options.read_only = true;
  return OpenOrFail(options, MemoryDb::kPath);
}

TEST(RefilterBesideReader, VerifyNamesNoFilterFileThatTheWriterHasRemoved) {
  MemoryDb writer(SmallFiles());
  Fill(writer);
  RefilterOrFail(writer, {.filter = kNewFilter});
  const std::vector<std::string> files = FilesNamed(writer, ".flt");
  ASSERT_GE(files.size(), 2u);
  const auto reader = OpenBeside(writer);
  ASSERT_EQ(FilesWith(*reader, kNewFilter), files.size());
  RefilterOrFail(writer, {.filter = kNewerFilter});
  EXPECT_EQ(VerifyMessages(*reader), std::vector<std::string>());
  // Their tables go as well.
  Fill(writer);
  writer.CompactAll();
  for (const std::string& file : files) {
    EXPECT_FALSE(*writer.file_system().Exists(absl::StrCat(MemoryDb::kPath, "/", file)));
  }
  EXPECT_EQ(VerifyMessages(*reader), std::vector<std::string>());
  std::string value;
  EXPECT_TRUE(reader->Get(ReadOptions(), KeyAt(10), &value).ok());
}

// Between the manifest's being read and the file's being opened.
TEST(RefilterBesideReader, AnOpeningThatMissesAFilterFileReadsTheNewerManifest) {
  MemoryDb writer(SmallFiles());
  Fill(writer);
  RefilterOrFail(writer, {.filter = kNewFilter});
  const size_t files = FilesNamed(writer, ".flt").size();
  bool has_replaced = false;
  writer.file_system().set_error_hook([&](const FileOperation& operation) {
    const bool is_opened = operation.kind == FileOperation::Kind::kOpenForReading;
    if (is_opened && operation.path.ends_with(".flt") && !has_replaced) {
      has_replaced = true;
      RefilterOrFail(writer, {.filter = kNewerFilter});
    }
    return absl::OkStatus();
  });
  const auto reader = OpenBeside(writer);
  writer.file_system().set_error_hook(nullptr);
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(has_replaced);
  EXPECT_EQ(FilesWith(*reader, kNewerFilter), files);
  EXPECT_EQ(reader->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
  EXPECT_EQ(VerifyMessages(*reader), std::vector<std::string>());
}

// Nobody writes: it is damage, with which a database opens.
TEST(RefilterBesideReader, AFilterFileThatStaysMissingIsReported) {
  MemoryDb db(SmallFiles());
  Fill(db);
  RefilterOrFail(db, {.filter = kNewFilter});
  const std::vector<std::string> files = FilesNamed(db, ".flt");
  ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", files.front())).ok());
  const auto reader = OpenBeside(db);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(FilesWith(*reader, kNewFilter), files.size() - 1);
  EXPECT_EQ(reader->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
  EXPECT_EQ(VerifyMessages(*reader).size(), 1u);
  // Who has it open for writing is told as well: nobody else may have removed it.
  EXPECT_EQ(VerifyMessages(*db).size(), 1u);
}

}  // namespace
}  // namespace winnow::refilter
