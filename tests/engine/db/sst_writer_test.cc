// SstWriter: what it takes, what it refuses, and what is left of a file that was given up.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/support/db_fixture.h"
#include "winnow/ingest.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

class SstWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<SstWriter> Writer(const ColumnFamilyOptions& options = Options()) {
    auto created = SstWriter::Create(options, "/t.sst", file_system_.get());
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *std::move(created) : nullptr;
  }
  bool FileExists() { return *file_system_->Exists("/t.sst"); }

  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
};

TEST_F(SstWriterTest, WritesATableThatSaysItIsExternal) {
  auto writer = Writer();
  ASSERT_TRUE(writer->Put("apple", "red").ok());
  ASSERT_TRUE(writer->Delete("banana").ok());
  const auto info = writer->Finish();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->num_entries, 2u);
  EXPECT_EQ(info->num_deletions, 1u);
  EXPECT_EQ(info->smallest_key, "apple");
  EXPECT_EQ(info->largest_key, "banana");
  EXPECT_EQ(info->filter_kind, "blocked_bloom");
  EXPECT_EQ(info->file_bytes, *file_system_->FileSize("/t.sst"));
  auto reader = SstableReader::Open({}, *file_system_->OpenRandomAccess("/t.sst"), "/t.sst");
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->ReadProperties()->is_external);
  EXPECT_EQ((*reader)->ReadProperties()->largest_sequence, 0u);
  EXPECT_TRUE((*reader)->Verify().empty());
}

// The manifest's number is every entry's, in the cache, past it and in the verifier's eyes.
TEST_F(SstWriterTest, GlobalSequenceIsThatOfEveryEntry) {
  auto writer = Writer();
  for (int i = 1000; i < 2000; i++) ASSERT_TRUE(writer->Put(std::to_string(i), "v").ok());
  ASSERT_TRUE(writer->Finish().ok());
  SstableReaderOptions options;
  options.global_sequence = 77;
  auto reader = SstableReader::Open(options, *file_system_->OpenRandomAccess("/t.sst"), "/t.sst");
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const size_t readahead : {0, 65536}) {
    SstableReadOptions read;
    read.readahead_bytes = readahead;
    const auto iterator = (*reader)->NewIterator(read);
    int entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      ASSERT_EQ(Sequence(iterator->key()), 77u);
      entries++;
    }
    EXPECT_EQ(entries, 1000);
  }
  PointResult result;
  ASSERT_TRUE((*reader)->Get({}, "1500", 76, &result).ok());
  EXPECT_FALSE(result.found);
  ASSERT_TRUE((*reader)->Get({}, "1500", 77, &result).ok());
  EXPECT_TRUE(result.found);
  EXPECT_EQ(result.sequence, 77u);
  EXPECT_TRUE((*reader)->Verify().empty());
}

TEST_F(SstWriterTest, KeysOutOfOrderAreRefusedAndTheWriterGoesOn) {
  auto writer = Writer();
  ASSERT_TRUE(writer->Put("b", "1").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(writer->Put("a", "2")));
  EXPECT_TRUE(absl::IsInvalidArgument(writer->Put("b", "2")));
  EXPECT_TRUE(absl::IsInvalidArgument(writer->Delete("b"))) << "two versions of one key";
  EXPECT_TRUE(absl::IsInvalidArgument(writer->Put(std::string(kMaxKeyBytes + 1, 'c'), "")));
  ASSERT_TRUE(writer->Put("c", "3").ok());
  const auto info = writer->Finish();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->num_entries, 2u);
  EXPECT_TRUE(absl::IsFailedPrecondition(writer->Put("d", "")));
  EXPECT_TRUE(absl::IsFailedPrecondition(writer->Finish().status()));
}

TEST_F(SstWriterTest, WhatIsNotFinishedIsRemoved) {
  auto writer = Writer();
  ASSERT_TRUE(writer->Put("a", "1").ok());
  writer.reset();
  EXPECT_FALSE(FileExists());
  writer = Writer();
  EXPECT_TRUE(absl::IsInvalidArgument(writer->Finish().status())) << "no entries";
  EXPECT_FALSE(FileExists());
}

TEST_F(SstWriterTest, AFileThatIsThereStays) {
  ASSERT_TRUE(WriteFileAtomically(*file_system_, "/t.sst", "somebody's").ok());
  EXPECT_TRUE(
      absl::IsAlreadyExists(SstWriter::Create(Options(), "/t.sst", file_system_.get()).status()));
  EXPECT_EQ(*ReadFile(*file_system_, "/t.sst", 100), "somebody's");
}

TEST_F(SstWriterTest, OptionsAreChecked) {
  Options options;
  options.filter = "nonsense";
  EXPECT_TRUE(
      absl::IsInvalidArgument(SstWriter::Create(options, "/t.sst", file_system_.get()).status()));
  options = Options();
  options.block_bytes = 1;
  EXPECT_TRUE(
      absl::IsInvalidArgument(SstWriter::Create(options, "/t.sst", file_system_.get()).status()));
  EXPECT_FALSE(FileExists());
}

// With a code of its own for what it refuses.
class Picky final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.picky"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    return absl::OkStatus();
  }
  absl::Status CheckOperand(std::string_view operand) const override {
    return operand == "good" ? absl::OkStatus() : absl::NotFoundError("not this one");
  }
};

TEST_F(SstWriterTest, AnOperandThatIsRefusedIsInvalidAndTheWriterGoesOn) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Writer()->Merge("a", "operand"))) << "no operator";
  Options options;
  options.merge_operator = std::make_shared<Picky>();
  auto writer = *SstWriter::Create(options, "/t.sst", file_system_.get());
  const absl::Status refused = writer->Merge("a", "bad");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(refused.message(), "/t.sst: merge operator 'test.picky': not this one");
  EXPECT_TRUE(writer->Merge("a", "good").ok());
  EXPECT_TRUE(writer->Finish().ok());
}

// The next opening would remove it.
TEST(SstWriterInDatabase, ANameOfTheDatabasesOwnFilesIsRefused) {
  MemoryDb db;
  for (const std::string name : {"/db/000012.sst", "/db/CURRENT.tmp", "/db/000013.flt"}) {
    const absl::Status refused = db->NewSstWriter(db->DefaultColumnFamily(), name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << name << ": " << refused;
    const absl::Status outside = SstWriter::Create(Options(), name, &db.file_system()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(outside)) << name << ": " << outside;
    EXPECT_FALSE(*db.file_system().Exists(name));
  }
  EXPECT_TRUE(db->NewSstWriter(db->DefaultColumnFamily(), "/db/mine.sst").ok());
  EXPECT_TRUE(db->NewSstWriter(db->DefaultColumnFamily(), "/000012.sst").ok());
}

}  // namespace
}  // namespace winnow
