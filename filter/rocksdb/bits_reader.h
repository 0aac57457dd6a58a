// Queries Winnow's filter blocks behind RocksDB's FilterBitsReader.

#ifndef WINNOW_FILTER_ROCKSDB_BITS_READER_H_
#define WINNOW_FILTER_ROCKSDB_BITS_READER_H_

#include <memory>

#include "filter/rocksdb/filter_bits_interface.h"
#include "filter/rocksdb/level_aware.h"
#include "winnow/filter/reader.h"

namespace winnow::filter::internal {

// Thread-safe. Allocates nothing after its construction.
class __attribute__((visibility("hidden"))) BitsReader final
    : public ROCKSDB_NAMESPACE::FilterBitsReader {
 public:
  // `contents` must outlive the reader. What is not understood is counted, warned of once, and
  // answered with "may contain". `level_aware` may be null.
  explicit BitsReader(const ROCKSDB_NAMESPACE::Slice& contents, LevelAware* level_aware = nullptr);

  bool MayMatch(const ROCKSDB_NAMESPACE::Slice& entry) override;
  // Hashes a group of keys and prefetches all their memory before it waits for any: RocksDB's
  // MultiGet comes here with up to 32.
  void MayMatch(int num_keys, ROCKSDB_NAMESPACE::Slice** keys, bool* may_match) override;

 private:
  FilterReader reader_;
  std::unique_ptr<OpenedFilter> counted_;  // for a level-aware policy
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_BITS_READER_H_
