// Holds version edits and CURRENT to what engine/version/FORMAT.md says about them.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/file_system/testing/recording_file_system.h"
#include "engine/version/current_file.h"
#include "engine/version/version_edit.h"
#include "tests/support/annotated_dump.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

std::string Document() {
  return *ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/version/FORMAT.md", 1 << 20);
}

VersionEdit ExampleEdit() {
  VersionEdit edit;
  edit.hash_seed = 0x0123456789abcdef;
  edit.next_file_number = 9;
  edit.last_sequence = 300;
  edit.largest_family_id = 1;
  FamilyEdit& family = edit.families.emplace_back();
  family.family_id = 1;
  family.name = "users";
  family.comparator = "order";
  family.filter = "cuckoo:12";
  family.filter_key = "whole";
  family.log_number = 7;
  family.deleted.push_back({1, 5});
  FileMetadata file;
  file.number = 8;
  file.file_id = 0xfedcba9876543210;
  file.file_bytes = 1500;
  file.num_entries = 2;
  file.num_deletions = 1;
  file.smallest = MakeInternalKey("a", 299, EntryType::kPut);
  file.largest = MakeInternalKey("b", 300, EntryType::kDelete);
  file.smallest_sequence = 299;
  file.largest_sequence = 300;
  family.added.push_back({2, file});
  return edit;
}

std::string DumpOfExample(std::string_view bytes) {
  AnnotatedDump dump(bytes);
  const auto head = [&dump](std::string_view tag) {
    dump.Field(1, tag);
    dump.Field(1, "length of the field");
  };
  head("tag 1: hash seed");
  dump.Field(8, "u64");
  head("tag 2: next file number");
  dump.Field(1, "9");
  head("tag 3: last sequence number");
  dump.Field(2, "300");
  head("tag 4: largest family id");
  dump.Field(1, "1");
  head("tag 5: column family");
  dump.Field(1, "id 1");
  head("tag 6: name");
  dump.Field(5, "\"users\"");
  head("tag 7: comparator");
  dump.Field(5, "\"order\"");
  head("tag 9: filter");
  dump.Field(9, "\"cuckoo:12\"");
  head("tag 10: filter key");
  dump.Field(5, "\"whole\"");
  head("tag 11: log number");
  dump.Field(1, "7");
  head("tag 13: deleted file");
  dump.Field(1, "level 1");
  dump.Field(1, "number 5");
  head("tag 12: added file");
  dump.Field(1, "level 2");
  dump.Field(1, "number 8");
  dump.Field(8, "file identity");
  dump.Field(2, "1500 bytes");
  dump.Field(1, "2 entries");
  dump.Field(1, "1 deletion");
  dump.Field(2, "smallest sequence number 299");
  dump.Field(2, "largest sequence number 300");
  dump.Field(1, "length of the smallest key");
  dump.Field(1, "user key \"a\"");
  dump.Field(8, "trailer: 299, type 1 (value)");
  dump.Field(1, "length of the largest key");
  dump.Field(1, "user key \"b\"");
  dump.Field(8, "trailer: 300, type 0 (deletion)");
  EXPECT_EQ(dump.offset(), bytes.size());
  return dump.text();
}

TEST(ManifestFormat, TheExampleInFormatMdIsWhatIsWritten) {
  std::string bytes;
  ExampleEdit().EncodeTo(&bytes);
  EXPECT_EQ(LastExampleOf(Document()), DumpOfExample(bytes));
}

TEST(ManifestFormat, TheExampleIsRead) {
  std::string bytes;
  ExampleEdit().EncodeTo(&bytes);
  const auto edit = VersionEdit::Decode(bytes);
  ASSERT_TRUE(edit.ok()) << edit.status();
  EXPECT_EQ(edit->DebugString(), ExampleEdit().DebugString());
}

TEST(ManifestFormat, FieldsThatMayBeIgnoredAreAndOthersAreRefused) {
  std::string bytes;
  ExampleEdit().EncodeTo(&bytes);
  const std::string ignorable = bytes + std::string("\x88\x27\x02hi", 5);  // tag 5000
  const auto edit = VersionEdit::Decode(ignorable);
  ASSERT_TRUE(edit.ok()) << edit.status();
  EXPECT_EQ(edit->DebugString(), ExampleEdit().DebugString());
  const std::string unknown = bytes + std::string("\xe7\x07\x02hi", 5);  // tag 999
  EXPECT_TRUE(absl::IsFailedPrecondition(VersionEdit::Decode(unknown).status()));
}

TEST(ManifestFormat, CurrentIsTheLineInFormatMd) {
  const auto memory = NewMemoryFileSystem();
  ASSERT_TRUE(memory->CreateDirectories("/db").ok());
  ASSERT_TRUE(WriteCurrentFile(*memory, "/db", 5).ok());
  const std::string line = *ReadFile(*memory, "/db/CURRENT", 1 << 10);
  EXPECT_NE(Document().find(absl::StrCat("\n    ", line)), std::string::npos) << line;
  EXPECT_EQ(*ReadCurrentFile(*memory, "/db"), 5u);
}

TEST(ManifestFormat, CurrentIsNotDamagedWhereDescriptorsRunOut) {
  const auto files = std::make_unique<RecordingFileSystem>();
  ASSERT_TRUE(files->CreateDirectories("/db").ok());
  ASSERT_TRUE(WriteCurrentFile(*files, "/db", 5).ok());
  files->set_error_hook([](const FileOperation& operation) {
    return operation.kind == FileOperation::Kind::kOpenForReading
               ? absl::ResourceExhaustedError("too many open files")
               : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(ReadCurrentFile(*files, "/db").status()));
  files->set_error_hook(nullptr);
  ASSERT_TRUE(WriteFileAtomically(*files, "/db/CURRENT", std::string(300, 'x')).ok());
  EXPECT_TRUE(absl::IsDataLoss(ReadCurrentFile(*files, "/db").status()));
}

}  // namespace
}  // namespace winnow
