// Found inside RocksDB's own tree alone.
#pragma once
#include <memory>

#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"
#include "rocksdb/version.h"

namespace ROCKSDB_NAMESPACE {
class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice& key) = 0;
#if STAND_IN_VERSION >= 906
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buffer) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buffer, Status*) { return Finish(buffer); }
  virtual Status MaybePostVerify(const Slice&) { return Status::OK(); }
  virtual size_t ApproximateNumEntries(size_t bytes) = 0;
#if STAND_IN_VERSION >= 1009
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
#endif
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice& entry) = 0;
  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) {
    for (int i = 0; i < num_keys; i++) may_match[i] = MayMatch(*keys[i]);
  }
};
}  // namespace ROCKSDB_NAMESPACE
