// The FilterPolicy that RocksDB sees.

#ifndef WINNOW_FILTER_ROCKSDB_FILTER_POLICY_H_
#define WINNOW_FILTER_ROCKSDB_FILTER_POLICY_H_

#include <rocksdb/filter_policy.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"
#include "filter/rocksdb/allocation_fit.h"
#include "filter/rocksdb/filter_bits_interface.h"
#include "filter/rocksdb/policy_spec.h"
#include "filter/rocksdb/tree_observer.h"
#include "winnow/filter/level_allocation.h"

namespace winnow::filter::internal {

// All policies' names begin with this.
inline constexpr std::string_view kPolicyNamePrefix = "winnow.";
// Thread-safe.
class WinnowFilterPolicy final : public ROCKSDB_NAMESPACE::FilterPolicy {
 public:
  // `hash_seed` is for the keys of the filters that it builds.
  WinnowFilterPolicy(PolicySpec spec, uint64_t hash_seed);

  const char* Name() const override { return name_.c_str(); }
  // The whole text, so that an OPTIONS file names the policy completely.
  std::string GetId() const override { return id_; }
  // RocksDB looks a file's filter up under this name: that of its own kinds, so that their filters
  // are found too, and each policy reads the filters of every other.
  const char* CompatibilityName() const override { return built_in_->CompatibilityName(); }

  ROCKSDB_NAMESPACE::FilterBitsBuilder* GetBuilderWithContext(
      const ROCKSDB_NAMESPACE::FilterBuildingContext& context) const override;
  ROCKSDB_NAMESPACE::FilterBitsReader* GetFilterBitsReader(
      const ROCKSDB_NAMESPACE::Slice& contents) const override;

 private:
  // For a level-aware policy: the bits per key of the file that is being built, or nothing while
  // the tree is not known.
  std::optional<double> LevelAwareBits(const NewFile& file) const;

  const PolicySpec spec_;
  const uint64_t hash_seed_;
  const std::string name_;
  const std::string id_;
  const std::unique_ptr<const ROCKSDB_NAMESPACE::FilterPolicy> built_in_;
  // FilterPolicy's methods are const; what they learn is guarded here, and in what builders share.
  const std::shared_ptr<TreeObserver> observer_;
  const std::shared_ptr<AllocationFit> fit_;
  mutable Mutex spread_mutex_;
  mutable TreeShape spread_shape_ ABSL_GUARDED_BY(spread_mutex_);
  mutable std::vector<double> spread_
      ABSL_GUARDED_BY(spread_mutex_);  // for spread_shape_, by level
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_FILTER_POLICY_H_
