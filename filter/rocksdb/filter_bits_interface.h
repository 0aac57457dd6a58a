// RocksDB's FilterBitsBuilder and FilterBitsReader, which every FilterPolicy makes and which have
// been internal since RocksDB 7.0: the real header where the build sees it (inside RocksDB's own
// tree), otherwise declarations of our own with the same order of virtual functions. That order is
// the binary interface. It has changed twice, so that the version decides:
//
//   RocksDB         functions of FilterBitsBuilder that are not in all versions
//   7.0.3 to 9.5    none
//   9.6  to 10.8    AddKeyAndAlt, second after the destructor
//   10.9 to 11.x    the same, and CalculateSpace and EstimatedFpRate at the end

#ifndef WINNOW_FILTER_ROCKSDB_FILTER_BITS_INTERFACE_H_
#define WINNOW_FILTER_ROCKSDB_FILTER_BITS_INTERFACE_H_

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/version.h>

#include <cstddef>
#include <memory>

#define WINNOW_ROCKSDB_VERSION (ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR)

// It does not work inside 7.0.0 to 7.0.2.
#if WINNOW_ROCKSDB_VERSION < 700 || (WINNOW_ROCKSDB_VERSION == 700 && ROCKSDB_PATCH < 3) || \
    WINNOW_ROCKSDB_VERSION >= 1200
#error \
    "Winnow's filters know the FilterBitsBuilder of RocksDB 7.0.3 to 11.x. For another version, \
compare table/block_based/filter_policy_internal.h of that version with \
filter/rocksdb/filter_bits_interface.h, add its layout there if it differs, and raise the limit."
#endif

#define WINNOW_ROCKSDB_HAS_ADD_KEY_AND_ALT (WINNOW_ROCKSDB_VERSION >= 906)
#define WINNOW_ROCKSDB_HAS_CALCULATE_SPACE (WINNOW_ROCKSDB_VERSION >= 1009)
// Behind the two: they are there with every version, so that every version tests them.
#if WINNOW_ROCKSDB_HAS_CALCULATE_SPACE
#define WINNOW_ROCKSDB_CALCULATES_SPACE override
#else
#define WINNOW_ROCKSDB_CALCULATES_SPACE
#endif

#if __has_include("table/block_based/filter_policy_internal.h")
#include "table/block_based/filter_policy_internal.h"
#else

namespace ROCKSDB_NAMESPACE {

// Hidden: the library that RocksDB itself is in keeps its own virtual tables of these classes.
#define WINNOW_HIDDEN __attribute__((visibility("hidden")))

// Takes the keys of one filter, makes the filter, and begins again: partitions share one builder.
class WINNOW_HIDDEN FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() = default;
  virtual void AddKey(const Slice& key) = 0;
#if WINNOW_ROCKSDB_HAS_ADD_KEY_AND_ALT
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf, Status* /*status*/) {
    return Finish(buf);
  }
  virtual Status MaybePostVerify(const Slice& /*filter_content*/) { return Status::OK(); }
  virtual size_t ApproximateNumEntries(size_t bytes) = 0;
#if WINNOW_ROCKSDB_HAS_CALCULATE_SPACE
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
#endif
};

// Answers for one filter block, from many threads.
class WINNOW_HIDDEN FilterBitsReader {
 public:
  virtual ~FilterBitsReader() = default;
  virtual bool MayMatch(const Slice& entry) = 0;
  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) {
    for (int i = 0; i < num_keys; ++i) may_match[i] = MayMatch(*keys[i]);
  }
};

#undef WINNOW_HIDDEN

}  // namespace ROCKSDB_NAMESPACE

#endif  // __has_include

#endif  // WINNOW_FILTER_ROCKSDB_FILTER_BITS_INTERFACE_H_
