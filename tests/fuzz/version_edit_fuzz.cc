// Any bytes as a version edit, the record of a manifest.

#include "engine/version/version_edit.h"
#include "tests/fuzz/fuzz_target.h"

std::vector<std::string> winnow::fuzz::Seeds() {
  VersionEdit edit;
  edit.hash_seed = 7;
  edit.next_file_number = 12;
  edit.last_sequence = 99;
  edit.largest_family_id = 1;
  FamilyEdit family;
  family.family_id = 1;
  family.name = "people";
  family.comparator = "winnow.bytewise";
  family.merge_operator = "uint64_add";
  family.filter = "cuckoo:1%";
  family.filter_key = "prefix:4";
  family.ttl_seconds = 3600;
  family.log_number = 5;
  family.options = {{"block_bytes", "8K"}, {"compaction", "fifo:1073741824"}};
  FileMetadata file;
  file.number = 6;
  file.file_id = 0x1234;
  file.file_bytes = 1000;
  file.smallest = std::string("a\0\0\0\0\0\0\0\1", 9);
  file.largest = std::string("b\0\0\0\0\0\0\0\1", 9);
  family.added.push_back({2, file});
  file.number = 7;
  file.global_sequence = 98;
  file.num_range_deletions = 3;
  file.write_times = {5, 1'000'000, 2'000'000};
  file.filter_file = {9, 0x5678, 400};
  family.added.push_back({3, file});
  file.number = 8;
  file.epoch_number = 12;
  family.added.push_back({0, file});
  family.deleted.push_back({1, 4});
  edit.options = {{"max_log_bytes", "2M"}};
  edit.families = {family};
  std::vector<std::string> seeds(2);
  edit.EncodeTo(&seeds[0]);
  VersionEdit().EncodeTo(&seeds[1]);
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto edit = winnow::VersionEdit::Decode({reinterpret_cast<const char*>(data), size});
  if (!edit.ok()) {
    winnow::fuzz::Require(!edit.status().message().empty(), "a refusal has a reason");
    return 0;
  }
  std::string once;
  edit->EncodeTo(&once);
  const auto again = winnow::VersionEdit::Decode(once);
  winnow::fuzz::Require(again.ok(), "what was decoded can be encoded and decoded");
  std::string twice;
  again->EncodeTo(&twice);
  winnow::fuzz::Require(once == twice && again->DebugString() == edit->DebugString(),
                        "an edit is read back the same");
  return 0;
}
