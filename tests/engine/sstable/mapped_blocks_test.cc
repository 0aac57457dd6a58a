// Tables whose file is mapped: the same answers, each block checked once, damage named.
#include "engine/sstable/mapped_blocks.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

// A file whose bytes are in memory, and may be damaged there.
struct FileInMemory {
  std::string bytes;
  size_t mapped_bytes = std::string::npos;  // less than the file has: it was cut
  uint64_t num_reads = 0;
  uint64_t num_mappings = 0;  // now
};

class MappableFile final : public RandomAccessFile {
 public:
  explicit MappableFile(FileInMemory* file) : file_(file) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    file_->num_reads++;
    return file_->bytes.copy(buffer, length, offset);
  }
  uint64_t size() const override { return file_->bytes.size(); }
  std::unique_ptr<FileMapping> Map() const override {
    if (file_->mapped_bytes == 0) return nullptr;
    return std::make_unique<Mapping>(file_);
  }

 private:
  class Mapping final : public FileMapping {
   public:
    explicit Mapping(FileInMemory* file) : file_(file) { file_->num_mappings++; }
    ~Mapping() override { file_->num_mappings--; }
    std::string_view bytes() const override {
      return std::string_view(file_->bytes).substr(0, file_->mapped_bytes);
    }

   private:
    FileInMemory* const file_;
  };

  FileInMemory* const file_;
};

std::unique_ptr<SstableReader> OpenMapped(FileInMemory* file, ShardedBlockCache* cache = nullptr) {
  SstableReaderOptions options;
  options.map_file = true;
  options.cache = cache;
  auto table = SstableReader::Open(options, std::make_unique<MappableFile>(file), "t.sst");
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *std::move(table) : nullptr;
}

SstableBuilderOptions BuilderOptions(Compression compression, size_t block_bytes) {
  SstableBuilderOptions options;
  options.compression = compression;
  options.block_bytes = block_bytes;
  options.file_id = 77;
  options.filter_spec = Spec("blocked_bloom:10");
  return options;
}

// Keys "key00000", ..., one version each, with values of 100 bytes.
SstableModel PlainModel(int keys) {
  SstableModel model;
  for (int i = 0; i < keys; i++) {
    const std::string number = std::to_string(100'000 + i);
    model[MakeInternalKey("key" + number, 5, EntryType::kPut)] = std::string(94, 'v') + number;
  }
  return model;
}

TEST(MappedBlocks, AnswersAreThoseOfTheModel) {
  std::mt19937_64 random(1);
  ShardedBlockCache cache(size_t{1} << 20, 0);
  // Values of up to 500 bytes and blocks of 80: many blocks are smaller than a piece, and some
  // begin in the piece of their neighbour.
  const SstableModel model = RandomModel(random, 300, 6, 500);
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    for (const size_t block_bytes : {80, 1000}) {
      for (const bool has_partitions : {false, true}) {
        SstableBuilderOptions options = BuilderOptions(compression, block_bytes);
        if (has_partitions) {
          options.index_partition_threshold = 1;
          options.index_partition_bytes = 100;
        }
        FileInMemory file{BuildTable(model, options).bytes};
        const auto table = OpenMapped(&file, &cache);
        ASSERT_NE(table, nullptr);
        EXPECT_EQ(table->mapped_bytes(), file.bytes.size());
        for (int round = 0; round < 2; round++) {
          ASSERT_NO_FATAL_FAILURE(ExpectTableEqualsModel(*table, model));
        }
        EXPECT_TRUE(table->Verify().empty());
      }
    }
  }
}

TEST(MappedBlocks, ABlockIsCheckedOnceAndReadWhereItLies) {
  const SstableModel model = PlainModel(1000);
  FileInMemory file{BuildTable(model, BuilderOptions(Compression::kNone, 4096)).bytes};
  ShardedBlockCache cache(size_t{1} << 20, 0);
  const auto table = OpenMapped(&file, &cache);
  const uint64_t reads = file.num_reads;
  const size_t used = cache.usage_bytes();
  ReadCounters counters;
  SstableReadOptions options;
  options.counters = &counters;
  for (int i = 0; i < 3; i++) {
    PointResult result;
    ASSERT_TRUE(table->Get(options, "key100500", 10, &result).ok());
    ASSERT_TRUE(result.found);
    EXPECT_GE(result.value.data(), file.bytes.data());
    EXPECT_LT(result.value.data(), file.bytes.data() + file.bytes.size());
    EXPECT_NE(result.mapped, nullptr);
    EXPECT_FALSE(result.pin);
  }
  EXPECT_EQ(counters.data_blocks_read.value(), 1u);
  EXPECT_EQ(counters.block_cache_hits.value() + counters.block_cache_misses.value(), 0u);
  ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(*table, model, options));
  EXPECT_EQ(counters.data_blocks_read.value(), table->figures().num_data_blocks);
  EXPECT_EQ(file.num_reads, reads);
  EXPECT_EQ(cache.usage_bytes(), used);
}

TEST(MappedBlocks, CompressedBlocksGoThroughTheCache) {
  FileInMemory file{BuildTable(PlainModel(1000), BuilderOptions(Compression::kLz4, 4096)).bytes};
  ShardedBlockCache cache(size_t{1} << 20, 0);
  const auto table = OpenMapped(&file, &cache);
  const uint64_t reads = file.num_reads;
  ReadCounters counters;
  SstableReadOptions options;
  options.counters = &counters;
  for (int i = 0; i < 3; i++) {
    PointResult result;
    ASSERT_TRUE(table->Get(options, "key100500", 10, &result).ok());
    EXPECT_TRUE(result.found);
    EXPECT_EQ(result.mapped, nullptr);
    EXPECT_TRUE(result.pin);
  }
  EXPECT_EQ(counters.data_blocks_read.value(), 1u);
  EXPECT_EQ(counters.block_cache_misses.value(), 1u);
  EXPECT_EQ(counters.block_cache_hits.value(), 2u);
  EXPECT_EQ(file.num_reads, reads);
}

// Damage that is there when a block is first read; every later read names it too.
TEST(MappedBlocks, DamageIsNamedWithFileAndOffset) {
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    FileInMemory file{BuildTable(PlainModel(1000), BuilderOptions(compression, 4096)).bytes};
    const auto table = OpenMapped(&file);
    file.bytes[table->figures().data_bytes / 2] ^= 1;
    int num_damaged = 0;
    for (int i = 0; i < 2000; i++) {
      PointResult result;
      const std::string key = "key" + std::to_string(100'000 + i % 1000);
      const absl::Status status = table->Get({}, key, 10, &result);
      if (status.ok()) {
        EXPECT_TRUE(result.found);
        continue;
      }
      num_damaged++;
      EXPECT_TRUE(absl::IsDataLoss(status));
      EXPECT_EQ(status.message().rfind("t.sst: at offset ", 0), 0u) << status;
    }
    EXPECT_GT(num_damaged, 20);
    EXPECT_LT(num_damaged, 600);
    EXPECT_EQ(num_damaged % 2, 0) << "as often in the second round";
    const auto iterator = table->NewIterator({});
    iterator->SeekToFirst();
    while (iterator->Valid()) iterator->Next();
    EXPECT_TRUE(absl::IsDataLoss(iterator->status()));
  }
}

TEST(MappedBlocks, ABlockThatWasReadWithoutCheckIsCheckedLater) {
  FileInMemory file{BuildTable(PlainModel(10), BuilderOptions(Compression::kNone, 4096)).bytes};
  const auto table = OpenMapped(&file);
  SstableReadOptions unchecked;
  unchecked.verify_checksums = false;
  PointResult result;
  ASSERT_TRUE(table->Get(unchecked, "key100005", 10, &result).ok());
  file.bytes[static_cast<size_t>(result.value.data() - file.bytes.data())] ^= 1;
  EXPECT_TRUE(table->Get(unchecked, "key100005", 10, &result).ok());
  EXPECT_TRUE(absl::IsDataLoss(table->Get({}, "key100005", 10, &result)));
}

TEST(MappedBlocks, AFileThatIsNotMappedWholeIsRead) {
  const SstableModel model = PlainModel(100);
  FileInMemory file{BuildTable(model, BuilderOptions(Compression::kNone, 4096)).bytes};
  for (const size_t mapped : {size_t{0}, size_t{100}, file.bytes.size() - 1}) {
    file.mapped_bytes = mapped;
    const auto table = OpenMapped(&file);
    EXPECT_EQ(table->mapped_bytes(), 0u);
    EXPECT_EQ(file.num_mappings, 0u);
    ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(*table, model));
  }
}

TEST(MappedBlocks, AHolderKeepsTheFileMappedWithoutTheReader) {
  FileInMemory file{BuildTable(PlainModel(100), BuilderOptions(Compression::kNone, 4096)).bytes};
  auto table = OpenMapped(&file);
  PointResult result;
  ASSERT_TRUE(table->Get({}, "key100005", 10, &result).ok());
  result.mapped->Hold();
  table.reset();
  EXPECT_EQ(file.num_mappings, 1u);
  EXPECT_EQ(result.value, std::string(94, 'v') + "100005");
  result.mapped->LetGo();
  EXPECT_EQ(file.num_mappings, 0u);
}

}  // namespace
}  // namespace winnow
