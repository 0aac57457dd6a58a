#include "rocksdb/filter_policy.h"

namespace ROCKSDB_NAMESPACE {
namespace {

class NoFilters : public FilterPolicy {
 public:
  const char* Name() const override { return "none"; }
  const char* CompatibilityName() const override { return "none"; }
  FilterBitsBuilder* GetBuilderWithContext(const FilterBuildingContext&) const override {
    return nullptr;
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& /*contents*/) const override {
    return nullptr;
  }
};

}  // namespace

const FilterPolicy* NewBloomFilterPolicy(double /*bits_per_key*/,
                                         bool /*IGNORED_use_block_based_builder*/) {
  return new NoFilters;
}

}  // namespace ROCKSDB_NAMESPACE
