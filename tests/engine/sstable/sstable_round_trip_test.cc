// What goes into a table comes out of it: look-ups, seeks and scans against a sorted map, over the
// shapes of tables and the options they are built and read with.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "absl/strings/str_format.h"
#include "engine/file_system/testing/recording_file_system.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

class Reversed final : public Comparator {
 public:
  std::string_view Name() const override { return "test.reversed"; }
  int Compare(std::string_view a, std::string_view b) const override {
    return BytewiseComparator()->Compare(b, a);
  }
  bool EqualKeysHaveEqualBytes() const override { return true; }
};

void ExpectRoundTrip(const SstableModel& model, const SstableBuilderOptions& options,
                     SstableReaderOptions reader_options = {},
                     const SstableReadOptions& read_options = {}) {
  const BuiltTable built = BuildTable(model, options);
  reader_options.comparator = options.comparator;
  reader_options.expected_file_id = built.summary.file_id;
  auto table = OpenSstable(built.bytes, reader_options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(built.summary.file_bytes, built.bytes.size());
  EXPECT_EQ((*table)->figures().num_entries, model.size());
  if (!model.empty()) {
    EXPECT_EQ(built.summary.smallest, model.begin()->first);
    EXPECT_EQ(built.summary.largest, model.rbegin()->first);
  }
  EXPECT_EQ((*table)->filter_state().code, filter::FilterStateCode::kOk)
      << (*table)->filter_state().reason;
  ASSERT_NO_FATAL_FAILURE(ExpectTableEqualsModel(**table, model, read_options));
  for (const SstableProblem& problem : (*table)->Verify()) {
    ADD_FAILURE() << "at offset " << problem.offset << ": " << problem.reason;
  }
}

TEST(SstableRoundTrip, EmptyTableAnswersNo) { ExpectRoundTrip({}, SstableBuilderOptions{}); }

TEST(SstableRoundTrip, EmptyTableWithFilterAnswersNo) {
  SstableBuilderOptions options;
  options.filter_spec = Spec("blocked_bloom:10");
  ExpectRoundTrip({}, options);
}

TEST(SstableRoundTrip, OneEntryWithEmptyKeyAndValue) {
  SstableBuilderOptions options;
  options.filter_spec = Spec("cuckoo:1%");
  ExpectRoundTrip({{MakeInternalKey("", 1, EntryType::kPut), ""}}, options);
}

TEST(SstableRoundTrip, RandomTablesOfEveryShape) {
  const uint64_t seed = 20240607;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const size_t block_bytes : {size_t{1}, size_t{100}, size_t{4096}}) {
    for (const int restart_interval : {1, 2, 16}) {
      for (const size_t max_length : {2, 4, 20}) {
        SstableBuilderOptions options;
        options.block_bytes = block_bytes;
        options.restart_interval = restart_interval;
        options.filter_spec = Spec("blocked_bloom:10");
        ExpectRoundTrip(RandomModel(random, 200, max_length, 30), options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(SstableRoundTrip, PartitionedIndexAnswersAsOneLevelDoes) {
  std::mt19937_64 random(7);
  for (const size_t partition_bytes : {size_t{1}, size_t{200}, size_t{1000}}) {
    SstableBuilderOptions options;
    options.block_bytes = 64;
    options.index_partition_threshold = 1;
    options.index_partition_bytes = partition_bytes;
    const SstableModel model = RandomModel(random, 400, 4, 30);
    const BuiltTable built = BuildTable(model, options);
    EXPECT_GT(built.summary.properties.index_partitions, 1u);
    ShardedBlockCache cache(1 << 20, 0);
    SstableReaderOptions reader_options;
    reader_options.cache = &cache;
    ExpectRoundTrip(model, options, reader_options);
    options.filter_spec = Spec("bloom:10");
    ExpectRoundTrip(model, options);
    if (HasFatalFailure()) return;
  }
}

// The last separator was once the shortest of all keys behind the table, "v", and the heads of the
// others were then all "user:000".
TEST(SstableRoundTrip, TheIndexStoresOnceWhatAllKeysShare) {
  for (const int count : {1, 2, 3000}) {
    SstableModel model;
    for (int i = 0; i < count; i++) {
      model[MakeInternalKey(absl::StrFormat("user:%011d", 2 * i), 1, EntryType::kPut)] = "value";
    }
    const BuiltTable table = BuildTable(model, SstableBuilderOptions{});
    const std::string_view bytes(table.bytes);
    const auto footer =
        Footer::Decode(bytes.substr(bytes.size() - kFooterBytes), bytes.size(), "t.sst");
    ASSERT_TRUE(footer.ok()) << footer.status();
    const std::string_view contents = bytes.substr(footer->index.offset, footer->index.size);
    ASSERT_EQ(IndexBlockError(contents, bytes.size()), nullptr);
    const IndexBlock index(contents.data());
    EXPECT_TRUE(index.shared_prefix().bytes().starts_with("user:0000000")) << count;
    for (uint32_t entry = 1; entry < index.size(); entry++) {
      ASSERT_LT(index.HeadAt(entry - 1), index.HeadAt(entry));
    }
  }
}

TEST(SstableRoundTrip, EveryCompression) {
  std::mt19937_64 random(8);
  const SstableModel model = RandomModel(random, 300, 6, 200);
  const size_t raw_bytes = BuildTable(model, SstableBuilderOptions{}).bytes.size();
  for (const Compression compression :
       {Compression::kSnappy, Compression::kLz4, Compression::kZstd}) {
    SCOPED_TRACE(std::string(CompressionName(compression)));
    SstableBuilderOptions options;
    options.compression = compression;
    EXPECT_LT(BuildTable(model, options).bytes.size(), raw_bytes * 7 / 8);
    ExpectRoundTrip(model, options);
    SstableReadOptions readahead;
    readahead.readahead_bytes = 10000;
    ExpectRoundTrip(model, options, {}, readahead);
  }
}

TEST(SstableRoundTrip, IncompressibleBlocksAreStoredRaw) {
  std::mt19937_64 random(9);
  SstableModel model;
  for (int i = 0; i < 100; i++) {
    std::string value(100, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    model[MakeInternalKey(std::to_string(random()), 1, EntryType::kPut)] = value;
  }
  SstableBuilderOptions options;
  options.compression = Compression::kZstd;
  auto table = OpenSstable(BuildTable(model, options).bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE((*table)
                  ->ForEachBlock([](const SstableBlockInfo& block) {
                    EXPECT_EQ(block.compression, Compression::kNone);
                  })
                  .ok());
}

TEST(SstableRoundTrip, ManyVersionsOfOneKeyAcrossBlocks) {
  for (const size_t block_bytes : {size_t{1}, size_t{50}, size_t{200}}) {
    SstableModel model;
    model[MakeInternalKey("a", 5, EntryType::kPut)] = "a";
    for (SequenceNumber sequence = 10; sequence < 100; sequence += 2) {
      model[MakeInternalKey("key", sequence, EntryType::kPut)] = std::to_string(sequence);
    }
    model[MakeInternalKey("kez", 5, EntryType::kPut)] = "z";
    SstableBuilderOptions options;
    options.block_bytes = block_bytes;
    options.filter_spec = Spec("cuckoo:1%");
    const BuiltTable built = BuildTable(model, options);
    EXPECT_EQ(built.summary.properties.num_filter_keys, 3u);
    ExpectRoundTrip(model, options);
    options.index_partition_threshold = 1;
    options.index_partition_bytes = 1;
    ExpectRoundTrip(model, options);
    if (HasFatalFailure()) return;
  }
}

TEST(SstableRoundTrip, HugeKeysAndValues) {
  SstableModel model;
  const std::string long_key(70000, 'k');
  model[MakeInternalKey(long_key, 3, EntryType::kPut)] = std::string(3000000, 'v');
  model[MakeInternalKey(long_key, 2, EntryType::kPut)] = "older";
  model[MakeInternalKey(long_key + "1", 2, EntryType::kPut)] = std::string(200, 'w');
  model[MakeInternalKey(std::string(300, 'a'), 2, EntryType::kPut)] = std::string(129, 'x');
  model[MakeInternalKey("k", 2, EntryType::kDelete)] = "";
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    SstableBuilderOptions options;
    options.compression = compression;
    options.filter_spec = Spec("bloom:10");
    ExpectRoundTrip(model, options);
    options.block_bytes = 16 << 20;
    ExpectRoundTrip(model, options);
  }
}

// Blocks are tried now and then only where they do not compress, and all again where they do.
TEST(SstableRoundTrip, WhatCompressesIsCompressedBehindWhatDoesNot) {
  std::mt19937_64 random(12);
  SstableModel model;
  constexpr size_t kEntries = 4000;
  constexpr size_t kValueBytes = 400;
  for (size_t i = 0; i < kEntries; i++) {
    std::string value(kValueBytes, 'v');
    if (i < kEntries / 2) {
      for (char& byte : value) byte = static_cast<char>(random());
    }
    model[MakeInternalKey(std::to_string(10000 + i), 1, EntryType::kPut)] = value;
  }
  SstableBuilderOptions options;
  options.compression = Compression::kLz4;
  ExpectRoundTrip(model, options);
  const uint64_t bytes = BuildTable(model, options).summary.properties.data_bytes;
  EXPECT_GT(bytes, kEntries / 2 * kValueBytes);
  EXPECT_LT(bytes, kEntries / 2 * kValueBytes * 23 / 20) << "of the second half little is left";
}

// A look-up of five bytes once read, and checked, the 64 MiB beside them.
TEST(SstableRoundTrip, ALargeEntryHasABlockOfItsOwn) {
  SstableBuilderOptions options;
  options.compression = Compression::kNone;
  const std::string large(1 << 20, 'v');
  SstableModel model;
  model[MakeInternalKey("a", 1, EntryType::kPut)] = "small";
  model[MakeInternalKey("b", 1, EntryType::kPut)] = large;
  model[MakeInternalKey("c", 1, EntryType::kPut)] = "small";
  model[MakeInternalKey("d", 1, EntryType::kPut)] = large;
  ExpectRoundTrip(model, options);
  EXPECT_EQ(BuildTable(model, options).summary.properties.num_data_blocks, 4u);
}

TEST(SstableRoundTrip, TrailersOfEveryWidth) {
  SstableModel model;
  for (int bits = 0; bits < 56; bits++) {
    const SequenceNumber sequence = (SequenceNumber{1} << bits) | 1;
    model[MakeInternalKey("k" + std::to_string(bits), sequence, EntryType::kPut)] = "v";
    SstableBuilderOptions options;
    ExpectRoundTrip(model, options);
  }
  model[MakeInternalKey("k", kMaxSequenceNumber, EntryType::kPut)] = "largest";
  model[MakeInternalKey("k", 0, EntryType::kDelete)] = "";
  ExpectRoundTrip(model, SstableBuilderOptions{});
}

TEST(SstableRoundTrip, OtherComparators) {
  static const Reversed reversed;
  std::mt19937_64 random(10);
  SstableBuilderOptions options;
  options.comparator = InternalKeyComparator(&reversed);
  const SstableModel model =
      RandomModel(random, 300, 5, 20, SstableModel(InternalKeyLess{options.comparator}));
  for (const size_t block_bytes : {size_t{1}, size_t{100}, size_t{4096}}) {
    options.block_bytes = block_bytes;
    ExpectRoundTrip(model, options);
    options.index_partition_threshold = 1;
    options.index_partition_bytes = 100;
    ExpectRoundTrip(model, options);
  }
}

TEST(SstableRoundTrip, EveryFilterKindAndFilterKey) {
  std::mt19937_64 random(11);
  const SstableModel model = RandomModel(random, 300, 6, 10);
  for (const std::string_view spec : {"bloom:10", "blocked_bloom:10", "cuckoo:0.1%", "bloom:1"}) {
    for (const std::string_view filter_key : {"whole", "prefix:2", "delimiter:a", "whole+prefix:2",
                                              "prefix:3+delimiter:a+delimiter:a:2"}) {
      SCOPED_TRACE(std::string(spec) + " " + std::string(filter_key));
      SstableBuilderOptions options;
      options.filter_spec = Spec(spec);
      options.filter_key = Extractor(filter_key);
      options.hash_seed = 12345;
      options.block_bytes = 200;
      auto table = OpenSstable(BuildTable(model, options).bytes);
      ASSERT_TRUE(table.ok()) << table.status();
      EXPECT_TRUE((*table)->has_filter());
      EXPECT_EQ((*table)->filter_key().ToString(), filter_key);
      EXPECT_EQ((*table)->hash_seed(), 12345u);
      ExpectRoundTrip(model, options);
    }
  }
}

TEST(SstableRoundTrip, EveryWayOfReading) {
  std::mt19937_64 random(12);
  const SstableModel model = RandomModel(random, 500, 5, 100);
  SstableBuilderOptions options;
  options.block_bytes = 300;
  for (const size_t capacity : {size_t{0}, size_t{2000}, size_t{1} << 20}) {
    ShardedBlockCache cache(capacity, 0);
    SstableReaderOptions reader_options;
    reader_options.cache = &cache;
    for (const bool fill_cache : {true, false}) {
      for (const bool verify : {true, false}) {
        for (const size_t readahead : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 20}) {
          SstableReadOptions read_options;
          read_options.fill_cache = fill_cache;
          read_options.verify_checksums = verify;
          read_options.readahead_bytes = readahead;
          const BuiltTable built = BuildTable(model, options);
          auto table = OpenSstable(built.bytes, reader_options);
          ASSERT_TRUE(table.ok()) << table.status();
          ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(**table, model, read_options));
          for (const auto& [key, value] : model) {
            ASSERT_NO_FATAL_FAILURE(
                ExpectGet(**table, model, UserKey(key), Sequence(key), read_options));
          }
        }
      }
    }
  }
}

TEST(SstableRoundTrip, IteratorChangesDirectionAnywhere) {
  std::mt19937_64 random(13);
  const SstableModel model = RandomModel(random, 200, 4, 10);
  SstableBuilderOptions options;
  options.block_bytes = 60;
  options.restart_interval = 3;
  auto table = OpenSstable(BuildTable(model, options).bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  const std::unique_ptr<SstableIterator> iterator = (*table)->NewIterator({});
  auto expected = model.begin();
  iterator->SeekToFirst();
  for (int step = 0; step < 20000; step++) {
    ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, model, expected));
    const bool forward =
        expected == model.begin() || (std::next(expected) != model.end() && random() % 2 == 0);
    if (forward) {
      ++expected;
      iterator->Next();
    } else {
      --expected;
      iterator->Prev();
    }
  }
}

TEST(SstableRoundTrip, FilterKeyPresentTellsTrueFromFalsePositives) {
  SstableModel model;
  for (const std::string_view key : {"aa1", "aa3", "cc1", "cc3", "x"}) {
    for (const SequenceNumber sequence : {20, 10}) {
      model[MakeInternalKey(key, sequence, EntryType::kPut)] = "v";
    }
  }
  for (const size_t block_bytes : {size_t{1}, size_t{60}, size_t{4096}}) {
    for (const size_t partition_threshold : {size_t{1}, size_t{1} << 20}) {
      SstableBuilderOptions options;
      options.block_bytes = block_bytes;
      options.index_partition_threshold = partition_threshold;
      options.index_partition_bytes = 1;
      const auto present = [&](std::string_view filter_key, std::string_view key,
                               SequenceNumber snapshot) {
        options.filter_key = Extractor(filter_key);
        auto table = OpenSstable(BuildTable(model, options).bytes);
        EXPECT_TRUE(table.ok()) << table.status();
        PointResult result;
        EXPECT_TRUE((*table)->Get({}, key, snapshot, &result).ok());
        EXPECT_FALSE(result.found);
        return result.filter_key_present;
      };
      // Only versions newer than the snapshot.
      for (const std::string_view key : {"aa1", "aa3", "cc1", "cc3", "x"}) {
        EXPECT_TRUE(present("whole", key, 5)) << key;
        EXPECT_TRUE(present("whole+prefix:2", key, 5)) << key;
      }
      for (const std::string_view key : {"", "aa0", "aa2", "aa4", "bb", "cc2", "w", "y"}) {
        for (const std::string_view filter_key : {"whole", "whole+prefix:2"}) {
          EXPECT_FALSE(present(filter_key, key, 5)) << key;
          EXPECT_FALSE(present(filter_key, key, 100)) << key;
        }
      }
      for (const std::string_view key : {"aa0", "aa2", "aa4", "cc0", "cc2", "cc4"}) {
        EXPECT_TRUE(present("prefix:2", key, 100)) << key;
        EXPECT_TRUE(present("prefix:2", key, 5)) << key;
      }
      for (const std::string_view key : {"", "aa", "ab1", "bb", "c", "cd", "w", "xx", "y"}) {
        // "aa" is its own filter key, of the same bytes as the prefix of "aa1".
        EXPECT_EQ(present("prefix:2", key, 100), key == "aa") << key;
      }
    }
  }
}

TEST(SstableRoundTrip, FilterKeyPresentIsThatOfAnyEntryInTheTable) {
  std::mt19937_64 random(17);
  size_t num_present = 0;
  size_t num_absent = 0;
  uint64_t reads_of_large = 0;
  uint64_t gets_of_large = 0;
  for (int round = 0; round < 60; round++) {
    const SstableModel model = RandomModel(random, 60, 4, 10);
    SstableBuilderOptions options;
    options.block_bytes = round % 2 == 0 ? 60 : 4096;
    options.restart_interval = 1 + round % 5;
    options.filter_key = Extractor(std::array<const char*, 4>{
        "prefix:1", "prefix:2+prefix:1", "delimiter:b", "delimiter:b+prefix:3"}[round / 2 % 4]);
    auto table = OpenSstable(BuildTable(model, options).bytes);
    ASSERT_TRUE(table.ok()) << table.status();
    std::set<std::string> filter_keys;
    std::set<std::string> keys;
    for (const auto& [key, value] : model) {
      keys.emplace(UserKey(key));
      filter_keys.emplace(options.filter_key.FilterKey(UserKey(key)));
    }
    ReadCounters counters;
    SstableReadOptions read;
    read.counters = &counters;
    for (const std::string& key : keys) {
      for (const std::string& sought : {key + "c", key.substr(0, key.size() / 2) + "d"}) {
        if (keys.contains(sought)) continue;
        PointResult result;
        ASSERT_TRUE((*table)->Get(read, sought, kMaxSequenceNumber, &result).ok());
        const bool expected =
            filter_keys.contains(std::string(options.filter_key.FilterKey(sought)));
        EXPECT_EQ(result.filter_key_present, expected) << sought;
        (expected ? num_present : num_absent)++;
        if (options.block_bytes >= 4096) gets_of_large++;
      }
    }
    if (options.block_bytes < 4096) continue;
    reads_of_large += counters.data_blocks_read.value();
  }
  EXPECT_GT(num_present, 100u);
  EXPECT_GT(num_absent, 100u);
  // Without a second search, unless the key stands at a block's end or is its own filter key.
  EXPECT_LT(reads_of_large, gets_of_large * 3 / 2);
}

TEST(SstableRoundTrip, KeysOutOfOrderAreRefused) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  const auto second_key_status = [&](std::string_view first, std::string_view second) {
    auto file = memory->Create("/t", WritableFileOptions{});
    SstableBuilder builder(SstableBuilderOptions{}, *std::move(file), "/t");
    EXPECT_TRUE(builder.Add(first, "v").ok());
    const absl::Status status = builder.Add(second, "v");
    EXPECT_EQ(builder.Finish().ok(), status.ok());
    return status.code();
  };
  const auto key = [](std::string_view user_key, SequenceNumber sequence) {
    return MakeInternalKey(user_key, sequence, EntryType::kPut);
  };
  EXPECT_EQ(second_key_status(key("a", 1), key("b", 1)), absl::StatusCode::kOk);
  EXPECT_EQ(second_key_status(key("a", 2), key("a", 1)), absl::StatusCode::kOk);
  EXPECT_EQ(second_key_status(key("a", 1), key("a", 2)), absl::StatusCode::kInternal);
  EXPECT_EQ(second_key_status(key("a", 1), key("a", 1)), absl::StatusCode::kInternal);
  EXPECT_EQ(second_key_status(key("b", 1), key("a", 1)), absl::StatusCode::kInternal);
  EXPECT_EQ(second_key_status(key("ab", 1), key("a", 1)), absl::StatusCode::kInternal);
  EXPECT_EQ(second_key_status(key("\xff", 1), key("a", 1)), absl::StatusCode::kInternal);
  EXPECT_EQ(second_key_status(key("a", 1), "short"), absl::StatusCode::kInternal);
}

TEST(SstableRoundTrip, EstimateIsCloseToTheFile) {
  std::mt19937_64 random(14);
  SstableModel model = RandomModel(random, 20000, 20, 100);
  const auto memory = std::make_unique<RecordingFileSystem>();
  SstableBuilderOptions options;
  options.filter_spec = Spec("blocked_bloom:10");
  SstableBuilder builder(options, *memory->Create("/t", WritableFileOptions{}), "/t");
  for (const auto& [key, value] : model) ASSERT_TRUE(builder.Add(key, value).ok());
  const double estimate = static_cast<double>(builder.file_bytes_estimate());
  EXPECT_GT(builder.memory_bytes(), model.size());
  auto summary = builder.Finish();
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_NEAR(estimate / static_cast<double>(summary->file_bytes), 1, 0.05);
}

TEST(SstableRoundTrip, AnErrorOfSyncingOrClosingIsTold) {
  for (const auto failing : {FileOperation::Kind::kSync, FileOperation::Kind::kClose}) {
    const auto memory = std::make_unique<RecordingFileSystem>();
    memory->set_error_hook([failing](const FileOperation& operation) {
      return operation.kind == failing ? absl::UnavailableError("injected I/O error")
                                       : absl::OkStatus();
    });
    SstableBuilder builder({}, *memory->Create("/table", {}), "/table");
    ASSERT_TRUE(builder.Add(MakeInternalKey("key", 1, EntryType::kPut), "value").ok());
    EXPECT_TRUE(absl::IsUnavailable(builder.Finish().status()));
  }
}

TEST(SstableRoundTrip, ApproximateOffsetsAscendToTheEndOfTheData) {
  std::mt19937_64 random(15);
  const SstableModel model = RandomModel(random, 1000, 8, 50);
  for (const size_t threshold : {size_t{1}, size_t{1} << 20}) {
    SstableBuilderOptions options;
    options.index_partition_threshold = threshold;
    options.index_partition_bytes = 300;
    auto table = OpenSstable(BuildTable(model, options).bytes);
    ASSERT_TRUE(table.ok()) << table.status();
    uint64_t last = 0;
    for (const auto& [key, value] : model) {
      const uint64_t offset = (*table)->ApproximateOffsetOf(key);
      EXPECT_GE(offset, last);
      last = offset;
    }
    EXPECT_LT(last, (*table)->figures().data_bytes);
    EXPECT_EQ(
        (*table)->ApproximateOffsetOf(MakeInternalKey(std::string(30, '\xff'), 1, EntryType::kPut)),
        (*table)->figures().data_bytes);
  }
}

}  // namespace
}  // namespace winnow
