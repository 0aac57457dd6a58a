// A database that changes its filter kind, gains Winnow's filters, loses them, is copied, takes in
// files from elsewhere, or has damaged filters: every key is found, and the filters that are
// understood are used.

#include <rocksdb/iterator.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/checkpoint.h>

#include "filter/rocksdb/filter_bits_interface.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kKeys = 2500;

PolicyPointer RocksDbBloom() { return PolicyPointer(rocksdb::NewBloomFilterPolicy(10)); }

class ChangesTest : public testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return folder_.Path("db"); }

  std::unique_ptr<rocksdb::DB> Open(PolicyPointer policy) {
    return OpenOrFail(SmallTreeOptions(), TableWithFilter(std::move(policy)), path());
  }

  // A compacted database with filters of `policy`.
  void Create(PolicyPointer policy) {
    auto db = Open(std::move(policy));
    PutEvenKeys(db.get(), kKeys);
    ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  }

  TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ChangesTest, testing::ValuesIn(BuildingKinds()), KindOfTest);

TEST_P(ChangesTest, OldFiltersAreUsedAfterAChangeOfKind) {
  Create(MakeTestPolicy(GetParam() + ":1%"));
  for (const std::string& kind : SpecKindNames()) {
    auto db = Open(MakeTestPolicy(kind));
    ExpectAllFound(db.get(), kKeys);
    EXPECT_LT(AskAbsentKeys(db.get(), kKeys), 0.03) << "now " << kind;
  }
}

TEST_P(ChangesTest, ReadsStayRightWithoutTheFiltersAndBack) {
  Create(MakeTestPolicy(GetParam()));
  for (const PolicyPointer& without : {PolicyPointer(), RocksDbBloom()}) {
    auto db = Open(without);
    ExpectAllFound(db.get(), kKeys);
    EXPECT_EQ(AskAbsentKeys(db.get(), 200), 1) << "RocksDB cannot use them";
  }
  auto db = Open(MakeTestPolicy(GetParam()));
  EXPECT_LT(AskAbsentKeys(db.get(), kKeys), 0.03) << "they are still there";
}

// A database that comes here loses nothing on the way: RocksDB's filters are used until a
// compaction rewrites them.
TEST_P(ChangesTest, RocksDbsOwnFiltersAreUsed) {
  for (const auto& theirs : {RocksDbBloom(), PolicyPointer(rocksdb::NewRibbonFilterPolicy(10))}) {
    Create(theirs);
    auto db = Open(MakeTestPolicy(GetParam()));
    ExpectAllFound(db.get(), kKeys);
    EXPECT_LT(AskAbsentKeys(db.get(), kKeys), 0.03);
    db.reset();
    ASSERT_TRUE(rocksdb::DestroyDB(path(), rocksdb::Options()).ok());
  }
}

TEST_P(ChangesTest, CompactionMovesADatabaseHereAndBack) {
  Create(RocksDbBloom());
  for (const bool to_winnow : {true, false}) {
    auto db = Open(to_winnow ? MakeTestPolicy(GetParam()) : RocksDbBloom());
    ExpectAllFound(db.get(), kKeys);
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db->CompactRange(options, nullptr, nullptr).ok());
    ExpectAllFound(db.get(), kKeys);
    EXPECT_LT(AskAbsentKeys(db.get(), kKeys), 0.03);
  }
}

TEST_P(ChangesTest, CheckpointsHaveTheFilters) {
  Create(MakeTestPolicy(GetParam()));
  {
    auto db = Open(MakeTestPolicy(GetParam()));
    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_TRUE(rocksdb::Checkpoint::Create(db.get(), &raw).ok());
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    ASSERT_TRUE(checkpoint->CreateCheckpoint(folder_.Path("copy")).ok());
  }
  auto copy =
      OpenOrFail(SmallTreeOptions(), TableWithFilter(MakeTestPolicy("none")), folder_.Path("copy"));
  ExpectAllFound(copy.get(), kKeys);
  EXPECT_LT(AskAbsentKeys(copy.get(), kKeys), 0.03);
}

TEST_P(ChangesTest, IngestedFilesHaveFilters) {
  rocksdb::Options options = SmallTreeOptions();
  options.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(TableWithFilter(MakeTestPolicy(GetParam()))));
  // Level-aware policies know no level here.
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_TRUE(writer.Open(folder_.Path("file.sst")).ok());
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(writer.Put(NumberedKey(2 * i), "value" + std::to_string(i)).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  auto db = Open(MakeTestPolicy(GetParam()));
  ASSERT_TRUE(db->IngestExternalFile({folder_.Path("file.sst")}, {}).ok());
  ExpectAllFound(db.get(), kKeys);
  EXPECT_LT(AskAbsentKeys(db.get(), kKeys), 0.03);
}

// Delegates to a policy of Winnow's and damages each block that it builds, so that RocksDB's own
// checksum covers the damage.
class DamagingPolicy final : public rocksdb::FilterPolicy {
 public:
  explicit DamagingPolicy(PolicyPointer sound) : sound_(std::move(sound)) {}
  const char* Name() const override { return "DamagingPolicy"; }
  const char* CompatibilityName() const override { return sound_->CompatibilityName(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return new Builder(sound_->GetBuilderWithContext(context));
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& contents) const override {
    return sound_->GetFilterBitsReader(contents);
  }

 private:
  class Builder final : public rocksdb::FilterBitsBuilder {
   public:
    explicit Builder(rocksdb::FilterBitsBuilder* sound) : sound_(sound) {}
    void AddKey(const rocksdb::Slice& key) override { sound_->AddKey(key); }
#if WINNOW_ROCKSDB_HAS_ADD_KEY_AND_ALT
    void AddKeyAndAlt(const rocksdb::Slice& key, const rocksdb::Slice& alt) override {
      sound_->AddKeyAndAlt(key, alt);
    }
#endif
    size_t EstimateEntriesAdded() override { return sound_->EstimateEntriesAdded(); }
    rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
      return Finish(buf, nullptr);
    }
    rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf, rocksdb::Status* status) override {
      const rocksdb::Slice block = sound_->Finish(buf, status);
      const_cast<char*>(buf->get())[block.size() / 2] ^= 1;
      return block;
    }
    rocksdb::Status MaybePostVerify(const rocksdb::Slice& filter_content) override {
      return sound_->MaybePostVerify(filter_content);
    }
    size_t ApproximateNumEntries(size_t bytes) override {
      return sound_->ApproximateNumEntries(bytes);
    }
#if WINNOW_ROCKSDB_HAS_CALCULATE_SPACE
    size_t CalculateSpace(size_t n) override { return sound_->CalculateSpace(n); }
    double EstimatedFpRate(size_t n, size_t bytes) override {
      return sound_->EstimatedFpRate(n, bytes);
    }
#endif

   private:
    std::unique_ptr<rocksdb::FilterBitsBuilder> sound_;
  };

  PolicyPointer sound_;
};

TEST_P(ChangesTest, DamagedFilterBlocksLoseNoKey) {
  Create(std::make_shared<DamagingPolicy>(MakeTestPolicy(GetParam())));
  const FilterPolicyCounters before = GetFilterPolicyCounters();
  auto db = Open(MakeTestPolicy(GetParam()));
  ExpectAllFound(db.get(), kKeys);
  EXPECT_EQ(AskAbsentKeys(db.get(), 200), 1);
  EXPECT_GT(GetFilterPolicyCounters().filters_not_understood, before.filters_not_understood);
}

TEST_P(ChangesTest, DetectedDamageOfANewFilterFailsTheFlush) {
  rocksdb::BlockBasedTableOptions table =
      TableWithFilter(std::make_shared<DamagingPolicy>(MakeTestPolicy(GetParam())));
  table.detect_filter_construct_corruption = true;
  auto db = OpenOrFail(SmallTreeOptions(), table, path());
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  const rocksdb::Status status = db->Flush({});
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
}

}  // namespace
}  // namespace winnow::filter
