// Holds the SSTable format to what FORMAT.md says about it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/sstable/format.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

SstableModel ExampleModel() {
  SstableModel model;
  model[MakeInternalKey("apple", 3, EntryType::kPut)] = "red";
  model[MakeInternalKey("apple", 1, EntryType::kDelete)] = "";
  model[MakeInternalKey("apricot", 2, EntryType::kPut)] = "orange";
  return model;
}

SstableBuilderOptions ExampleOptions() {
  SstableBuilderOptions options;
  options.file_id = 0x1122334455667788;
  options.filter_spec = Spec("blocked_bloom:10");
  options.hash_seed = 7;
  options.column_family_name = "default";
  return options;
}

// Prints fields: offset, bytes in hex, twelve a line, meaning.
class AnnotatedDump {
 public:
  explicit AnnotatedDump(std::string_view bytes) : bytes_(bytes) {}

  void Field(size_t length, std::string_view meaning) {
    constexpr size_t kBytesPerLine = 12;
    size_t done = 0;
    do {
      char number[16];
      std::snprintf(number, sizeof(number), "%5zu ", offset_ + done);
      text_ += number;
      for (size_t i = 0; i < kBytesPerLine; i++) {
        char hex[8];
        const bool present = done + i < length && offset_ + done + i < bytes_.size();
        std::snprintf(hex, sizeof(hex), present ? " %02x" : "   ",
                      present ? static_cast<uint8_t>(bytes_[offset_ + done + i]) : 0u);
        if (present || done == 0) text_ += hex;
      }
      if (done == 0) {
        text_ += "  ";
        text_ += meaning;
      }
      text_ += '\n';
      done += kBytesPerLine;
    } while (done < length);
    offset_ += length;
  }
  void BlockTrailer() {
    Field(1, "compression: none");
    Field(8, "checksum");
  }
  void Handle(std::string_view block) {
    Field(8, std::string("offset of the ") + std::string(block));
    Field(8, "its size");
  }
  std::string_view rest() const { return bytes_.substr(offset_); }
  size_t offset() const { return offset_; }
  const std::string& text() const { return text_; }

 private:
  std::string_view bytes_;
  size_t offset_ = 0;
  std::string text_;
};

void DumpEntry(AnnotatedDump& dump, size_t unshared, std::string_view meaning) {
  dump.Field(1, std::string("entry ") + std::string(meaning) + ": shared");
  dump.Field(1, "unshared");
  dump.Field(1, "length of the value");
  dump.Field(2, "trailer - base trailer");
  if (unshared > 0) dump.Field(unshared, "the rest of the user key");
}

void DumpHeader(AnnotatedDump& dump) {
  dump.Field(8, "header: magic \"WNNOHEAD\"");
  dump.Field(8, "checksum");
  dump.Field(2, "major version");
  dump.Field(2, "minor version");
  dump.Field(4, "size of the header");
  dump.Field(8, "file identity");
  dump.Field(8, "database identity");
  dump.Field(4, "column family");
  dump.Field(4, "length of its name");
  dump.Field(7, "name \"default\"");
}

void DumpDataBlock(AnnotatedDump& dump) {
  dump.Field(4, "data block: number of entries");
  dump.Field(4, "offset of the first entry");
  dump.Field(4, "offset of the first value");
  dump.Field(2, "restart interval");
  dump.Field(1, "trailer width");
  dump.Field(1, "flags");
  dump.Field(8, "base trailer");
  dump.Field(4, "restart 0: offset of its entry");
  dump.Field(4, "offset of its value");
  DumpEntry(dump, 5, "\"apple\" @3 put");
  DumpEntry(dump, 0, "\"apple\" @1 delete");
  DumpEntry(dump, 5, "\"apricot\" @2 put");
  dump.Field(3, "value \"red\"");
  dump.Field(6, "value \"orange\"");
  dump.BlockTrailer();
}

void DumpIndexBlock(AnnotatedDump& dump) {
  dump.Field(4, "index block: number of blocks");
  dump.Field(4, "flags");
  dump.Field(8, "offset of the first block");
  dump.Field(4, "length of the prefix");
  dump.Field(4, "zero");
  dump.Field(8, "head 0");
  dump.Field(4, "end of block 0");
  dump.Field(4, "end of suffix 0");
  dump.Field(3, "prefix \"aps\": the last separator, shortened");
  dump.BlockTrailer();
}

void DumpProperties(AnnotatedDump& dump, size_t size) {
  const size_t end = dump.offset() + size;
  while (dump.offset() < end) {
    std::string_view rest = dump.rest();
    const size_t before = rest.size();
    std::string_view name;
    std::string_view value;
    ASSERT_TRUE(GetLengthPrefixed(&rest, &name) && GetLengthPrefixed(&rest, &value));
    dump.Field(before - rest.size(), std::string("property ") + std::string(name));
  }
  dump.BlockTrailer();
}

void DumpFooter(AnnotatedDump& dump) {
  dump.Field(8, "footer: checksum");
  dump.Field(8, "file identity");
  dump.Field(8, "size of the file");
  dump.Handle("properties block");
  dump.Handle("filter block");
  dump.Handle("index block");
  dump.Handle("range tombstones");
  dump.Field(4, "index levels");
  dump.Field(4, "size of the header");
  dump.Handle("range filter");
  dump.Field(2, "major version");
  dump.Field(2, "minor version");
  dump.Field(4, "size of the footer");
  dump.Field(8, "magic \"WNNOWSST\"");
}

TEST(SstableFormat, TheExampleInFormatMdIsWhatIsWritten) {
  const BuiltTable built = BuildTable(ExampleModel(), ExampleOptions());
  const uint64_t size = built.bytes.size();
  const auto footer =
      Footer::Decode(std::string_view(built.bytes).substr(size - kFooterBytes), size, "example");
  ASSERT_TRUE(footer.ok()) << footer.status();
  AnnotatedDump dump(built.bytes);
  DumpHeader(dump);
  DumpDataBlock(dump);
  ASSERT_EQ(dump.offset(), footer->filter.offset);
  dump.Field(footer->filter.size, "filter block");
  dump.BlockTrailer();
  ASSERT_EQ(dump.offset(), footer->index.offset);
  DumpIndexBlock(dump);
  ASSERT_EQ(dump.offset(), footer->properties.offset);
  ASSERT_NO_FATAL_FAILURE(DumpProperties(dump, footer->properties.size));
  DumpFooter(dump);
  ASSERT_EQ(dump.offset(), size);

  const std::string document =
      ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/sstable/FORMAT.md", 1 << 20).value();
  const size_t begin = document.rfind("```\n", document.rfind("```") - 1) + 4;
  EXPECT_EQ(document.substr(begin, document.rfind("```") - begin), dump.text());
}

TEST(SstableFormat, TheChecksumSeedIsTheDocumentedOne) {
  const BuiltTable built = BuildTable(ExampleModel(), ExampleOptions());
  const uint64_t size = built.bytes.size();
  const auto footer =
      Footer::Decode(std::string_view(built.bytes).substr(size - kFooterBytes), size, "example");
  ASSERT_TRUE(footer.ok()) << footer.status();
  const BlockHandle index = footer->index;
  const uint64_t seed =
      (ExampleOptions().file_id ^ (index.offset * 0x9e3779b97f4a7c15ULL)) + (index.offset >> 32);
  const std::string_view contents = std::string_view(built.bytes).substr(index.offset, index.size);
  EXPECT_EQ(DecodeFixed64(built.bytes.data() + index.offset + index.size + 1),
            Checksum(contents, seed));
  EXPECT_EQ(BlockChecksum(contents, 2, ExampleOptions().file_id, index.offset),
            Checksum(contents, seed + 2 * 0xd6e8feb86659fd93ULL));
}

TEST(SstableFormat, EqualInputsMakeEqualBytes) {
  EXPECT_EQ(BuildTable(ExampleModel(), ExampleOptions()).bytes,
            BuildTable(ExampleModel(), ExampleOptions()).bytes);
  SstableBuilderOptions options = ExampleOptions();
  options.file_id = 0;
  const uint64_t first_id = BuildTable(ExampleModel(), options).summary.file_id;
  EXPECT_NE(first_id, BuildTable(ExampleModel(), options).summary.file_id);
}

TEST(SstableFormat, PropertiesSurviveTheRoundTripAndUnknownOnesAreSkipped) {
  const SstableProperties written = BuildTable(ExampleModel(), ExampleOptions()).summary.properties;
  std::string bytes = written.Encode();
  PutLengthPrefixed(&bytes, "range_tombstones");
  PutLengthPrefixed(&bytes, "from the future");
  const auto read = SstableProperties::Decode(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->DebugString(), written.DebugString());
  EXPECT_EQ(read->num_entries, 3u);
  EXPECT_EQ(read->num_puts, 2u);
  EXPECT_EQ(read->num_deletions, 1u);
  EXPECT_EQ(read->num_filter_keys, 2u);
  EXPECT_EQ(read->raw_key_bytes, 5u + 5u + 7u + 3 * kTrailerBytes);
  EXPECT_EQ(read->raw_value_bytes, 9u);
  EXPECT_EQ(read->smallest_user_key, "apple");
  EXPECT_EQ(read->largest_user_key, "apricot");
  EXPECT_EQ(read->smallest_sequence, 1u);
  EXPECT_EQ(read->largest_sequence, 3u);
  EXPECT_EQ(read->filter_spec, "blocked_bloom:10");
  EXPECT_EQ(read->filter_key, "whole");
}

TEST(SstableFormat, MissingDoubledOrCutPropertiesAreRefused) {
  const std::string bytes = SstableProperties().Encode();
  ASSERT_TRUE(SstableProperties::Decode(bytes).ok());
  EXPECT_FALSE(SstableProperties::Decode("").ok());
  EXPECT_FALSE(SstableProperties::Decode(bytes + bytes).ok());
  for (size_t length = 0; length < bytes.size(); length++) {
    const auto decoded = SstableProperties::Decode(std::string_view(bytes).substr(0, length));
    if (decoded.ok()) {
      // Cut right behind a property, with all that must be there before.
      EXPECT_EQ(decoded->comparator_name, "");
      EXPECT_GT(length, bytes.find("comparator"));
    }
  }
}

TEST(SstableProperties, RefuseSequenceNumbersThatThereAreNot) {
  for (uint64_t SstableProperties::*member :
       {&SstableProperties::smallest_sequence, &SstableProperties::largest_sequence}) {
    SstableProperties properties;
    properties.*member = kMaxSequenceNumber;
    EXPECT_TRUE(SstableProperties::Decode(properties.Encode()).ok());
    properties.*member = kMaxSequenceNumber + 1;
    const absl::Status status = SstableProperties::Decode(properties.Encode()).status();
    EXPECT_TRUE(IsCorruption(status)) << status;
  }
}

}  // namespace
}  // namespace winnow
