// The FilterPolicy that RocksDB sees.

#ifndef WINNOW_FILTER_ROCKSDB_FILTER_POLICY_H_
#define WINNOW_FILTER_ROCKSDB_FILTER_POLICY_H_

#include <rocksdb/filter_policy.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "filter/rocksdb/allocation_fit.h"
#include "filter/rocksdb/filter_bits_interface.h"
#include "filter/rocksdb/level_aware.h"
#include "filter/rocksdb/policy_spec.h"

namespace winnow::filter::internal {

// All policies' names begin with this.
inline constexpr std::string_view kPolicyNamePrefix = "winnow.";
// Thread-safe.
class WinnowFilterPolicy final : public ROCKSDB_NAMESPACE::FilterPolicy {
 public:
  // `hash_seed` is for the keys of the filters that it builds, `fit` for their sizes where the
  // table options ask for that.
  WinnowFilterPolicy(PolicySpec spec, uint64_t hash_seed,
                     std::shared_ptr<AllocationFit> fit = std::make_shared<AllocationFit>());

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
  const PolicySpec spec_;
  const uint64_t hash_seed_;
  const std::string name_;
  const std::string id_;
  const std::unique_ptr<const ROCKSDB_NAMESPACE::FilterPolicy> built_in_;
  // FilterPolicy's methods are const; what they learn is guarded in these, which builders and
  // readers share.
  const std::shared_ptr<LevelAware> level_aware_;  // null: uniform
  const std::shared_ptr<AllocationFit> fit_;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_FILTER_POLICY_H_
