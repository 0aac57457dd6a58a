// Filter files: what is written, what is refused, and that FORMAT.md says so.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "engine/base/coding.h"
#include "engine/sstable/filter_file.h"
#include "tests/engine/sstable/sstable_model.h"
#include "tests/support/annotated_dump.h"
#include "winnow/filter/hash.h"
#include "winnow/memory_file_system.h"

namespace winnow::filter_file {
namespace {

constexpr char kPath[] = "/000009.flt";
constexpr uint64_t kTableId = 0x1122334455667788;

filter::BuiltFilter BuildFilter(int num_keys) {
  auto builder = *filter::FilterBuilder::Create(Spec("blocked_bloom:10"), 7);
  for (int i = 0; i < num_keys; i++) builder->Add(filter::HashKey(std::to_string(i), 7));
  return builder->Finish();
}

// The bytes of the file.
std::string Written(FileSystem& files, const filter::BuiltFilter& built) {
  FilterFileHeader header;
  header.table_id = kTableId;
  header.hash_seed = 7;
  header.filter_spec = "blocked_bloom:10";
  header.filter_key = "whole";
  auto file = files.Create(kPath, {});
  EXPECT_TRUE(file.ok());
  const absl::Status written = WriteFilterFile(built, &header, file->get());
  EXPECT_TRUE(written.ok()) << written;
  return *ReadFile(files, kPath, 1 << 20);
}

void Rewrite(FileSystem& files, std::string_view bytes) {
  auto file = files.Create(kPath, {});
  ASSERT_TRUE((*file)->Append(bytes).ok() && (*file)->Close().ok());
}

// Opens and reads every byte.
absl::Status Check(FileSystem& files, uint64_t file_id = 0, uint64_t table_id = kTableId) {
  auto opened = files.OpenRandomAccess(kPath);
  if (!opened.ok()) return opened.status();
  auto file = FilterFile::Open(*std::move(opened), std::string(kPath), file_id, table_id);
  if (!file.ok()) return file.status();
  for (const SstableProblem& problem : (*file)->Verify()) return problem.ToStatus(kPath);
  return absl::OkStatus();
}

TEST(FilterFile, ReadsWhatWasWritten) {
  const auto files = NewMemoryFileSystem();
  const filter::BuiltFilter built = BuildFilter(1000);
  const std::string bytes = Written(*files, built);
  auto file = FilterFile::Open(*files->OpenRandomAccess(kPath), std::string(kPath), 0, kTableId);
  ASSERT_TRUE(file.ok()) << file.status();
  const FilterFileHeader& header = (*file)->header();
  EXPECT_EQ(header.filter_spec, "blocked_bloom:10");
  EXPECT_EQ(header.filter_key, "whole");
  EXPECT_EQ(header.hash_seed, 7u);
  EXPECT_EQ(header.num_filter_keys, 1000u);
  EXPECT_EQ(header.filter_bytes, built.block.size());
  EXPECT_EQ(header.file_bytes, bytes.size());
  EXPECT_EQ(header.expected_fpr, built.expected_fpr);
  const BlockHandle block = header.filter_block();
  EXPECT_EQ(block.end(), bytes.size());
  EXPECT_EQ(bytes.substr(block.offset, block.size), built.block);
  EXPECT_TRUE((*file)->Verify().empty());
  EXPECT_TRUE(Check(*files, header.file_id).ok());
}

TEST(FilterFile, WithoutAFilterIsAHeaderAlone) {
  const auto files = NewMemoryFileSystem();
  const std::string bytes = Written(*files, filter::BuiltFilter());
  EXPECT_EQ(bytes.size(), kMinFilterFileHeaderBytes + 16 + 5);
  EXPECT_TRUE(Check(*files).ok());
}

TEST(FilterFile, AnyOtherByteIsDamage) {
  const auto files = NewMemoryFileSystem();
  const std::string bytes = Written(*files, BuildFilter(40));
  for (size_t at = 0; at < bytes.size(); at++) {
    for (const int mask : {1, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      Rewrite(*files, damaged);
      const absl::Status status = Check(*files);
      EXPECT_TRUE(absl::IsDataLoss(status)) << at << ": " << status;
    }
  }
  for (size_t size = 0; size < bytes.size(); size++) {
    Rewrite(*files, bytes.substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(Check(*files))) << size;
  }
  Rewrite(*files, bytes + '\0');
  EXPECT_TRUE(absl::IsDataLoss(Check(*files)));
}

// Under a sum that is right: a plan of filter memory sorts by these rates.
TEST(FilterFile, ARateThatIsNoneIsDamage) {
  const auto files = NewMemoryFileSystem();
  filter::BuiltFilter built = BuildFilter(10);
  for (const double rate : {std::numeric_limits<double>::quiet_NaN(), -0.1, 1.1}) {
    built.expected_fpr = rate;
    Written(*files, built);
    EXPECT_TRUE(absl::IsDataLoss(Check(*files))) << rate;
  }
  for (const double rate : {0.0, 1.0}) {
    built.expected_fpr = rate;
    Written(*files, built);
    EXPECT_TRUE(Check(*files).ok()) << rate;
  }
}

TEST(FilterFile, OfAnotherTableOrReplacedIsRefused) {
  const auto files = NewMemoryFileSystem();
  Written(*files, BuildFilter(10));
  EXPECT_TRUE(absl::IsDataLoss(Check(*files, 0, kTableId + 1)));
  EXPECT_TRUE(absl::IsDataLoss(Check(*files, 1)));
}

TEST(FilterFile, TheExampleInFormatMdIsWhatIsWritten) {
  FilterFileHeader header;
  header.file_id = 0x0123456789abcdef;
  header.table_id = kTableId;
  header.hash_seed = 7;
  header.num_filter_keys = 2;
  header.filter_bytes = 192;
  header.expected_fpr = 0.0078125;
  header.filter_spec = "blocked_bloom:10";
  header.filter_key = "prefix:16";
  header.file_bytes = header.filter_block().end();
  const std::string bytes = header.Encode();
  AnnotatedDump dump(bytes);
  dump.Field(8, "magic \"WNNOFILT\"");
  dump.Field(8, "checksum");
  dump.Field(2, "major version");
  dump.Field(2, "minor version");
  dump.Field(4, "size of the header");
  dump.Field(8, "file identity");
  dump.Field(8, "file identity of the SSTable");
  dump.Field(8, "size of the file");
  dump.Field(8, "hash seed");
  dump.Field(8, "filter keys");
  dump.Field(8, "size of the filter block");
  dump.Field(8, "expected false-positive rate");
  dump.Field(4, "not fallen back");
  dump.Field(4, "length of the filter spec");
  dump.Field(4, "length of the filter key");
  dump.Field(4, "units that are listed");
  dump.Field(16, "filter spec \"blocked_bloom:10\"");
  dump.Field(9, "filter key \"prefix:16\"");
  ASSERT_EQ(dump.offset(), bytes.size());
  const std::string document =
      *ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/sstable/FORMAT.md", 1 << 20);
  EXPECT_NE(document.find("```\n" + dump.text() + "```"), std::string::npos) << dump.text();
}

}  // namespace
}  // namespace winnow::filter_file
