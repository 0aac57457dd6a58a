// Builds Winnow's filter blocks behind RocksDB's FilterBitsBuilder.

#ifndef WINNOW_FILTER_ROCKSDB_BITS_BUILDER_H_
#define WINNOW_FILTER_ROCKSDB_BITS_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "filter/rocksdb/allocation_fit.h"
#include "filter/rocksdb/construction_charge.h"
#include "filter/rocksdb/filter_bits_interface.h"
#include "filter/rocksdb/level_aware.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/spec.h"

namespace winnow::filter::internal {

struct BitsBuilderSettings {
  FilterSpec spec;  // with bits; valid
  uint64_t hash_seed = 0;
  // BlockBasedTableOptions::detect_filter_construct_corruption: check the hashes before a filter is
  // built and the finished filter afterwards, and fail the file rather than write a wrong filter.
  bool detect_corruption = false;
  FilterBuildLimits limits;
  FilterBuildContext context;  // for "auto"
  // Null: sizes are not fitted to what the allocator gives.
  std::shared_ptr<AllocationFit> fit;
  // Null: the amount is that of `spec`.
  std::shared_ptr<LevelAwareFile> level_aware;
};

// Gives filter contents as FORMAT.md specifies them. For one thread. Memory: 8 bytes for each key;
// Finish adds one shard and the filter, whose bytes it copies once the hashes are gone. With
// detect_corruption they stay until MaybePostVerify.
class __attribute__((visibility("hidden"))) BitsBuilder final
    : public ROCKSDB_NAMESPACE::FilterBitsBuilder {
 public:
  // `charge` may be null; otherwise what the builder holds is charged to it, and what it has given
  // away as well until it is destroyed: RocksDB keeps partitions that long.
  explicit BitsBuilder(BitsBuilderSettings settings,
                       std::unique_ptr<ConstructionCharge> charge = nullptr);
  ~BitsBuilder() override;

  void AddKey(const ROCKSDB_NAMESPACE::Slice& key) override;
#if WINNOW_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const ROCKSDB_NAMESPACE::Slice& key,
                    const ROCKSDB_NAMESPACE::Slice& alt) override;
#endif
  size_t EstimateEntriesAdded() override;

  ROCKSDB_NAMESPACE::Slice Finish(std::unique_ptr<const char[]>* buf) override;
  ROCKSDB_NAMESPACE::Slice Finish(std::unique_ptr<const char[]>* buf,
                                  ROCKSDB_NAMESPACE::Status* status) override;
  ROCKSDB_NAMESPACE::Status MaybePostVerify(
      const ROCKSDB_NAMESPACE::Slice& filter_content) override;

  size_t ApproximateNumEntries(size_t bytes) override;
  size_t CalculateSpace(size_t num_entries) WINNOW_ROCKSDB_CALCULATES_SPACE;
  double EstimatedFpRate(size_t num_entries, size_t bytes) WINNOW_ROCKSDB_CALCULATES_SPACE;

 private:
  friend class BitsBuilderPeer;  // lets a test damage what is kept between adding and finishing

  void AddHash(uint64_t hash);
  void BeginFilter();
  bool HashesAreIntact() const;
  BuiltFilter Build();
  // `is_spread`: level_aware has decided on the bits.
  BuiltFilter BuildFitted(bool is_spread);
  void ChargeMemory(uint64_t bytes_besides);

  const BitsBuilderSettings settings_;
  const double bits_per_key_;
  const std::unique_ptr<ConstructionCharge> charge_;
  uint64_t bytes_given_ = 0;  // of all filters finished
  std::unique_ptr<FilterBuilder> builder_;
  uint64_t checksum_ = 0;  // exclusive or of the hashes kept; only with detect_corruption
  // The last prefix that AddKeyAndAlt was given: whole keys lie between equal ones.
  std::optional<uint64_t> last_alt_;
  // Of the finished filter, for MaybePostVerify; only with detect_corruption.
  std::unique_ptr<FilterBuilder> finished_;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_BITS_BUILDER_H_
