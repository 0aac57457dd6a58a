// Many filters of one kind, built from keys and asked by key: Winnow's kinds, and RocksDB's own
// filters where its library was found. Both have the same members, for the measuring templates.

#ifndef WINNOW_BENCH_FILTER_FILTER_SET_H_
#define WINNOW_BENCH_FILTER_FILTER_SET_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/filter/key_stream.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/reader.h"

namespace winnow::bench {

inline constexpr size_t kBatch = 32;

// The bytes of a filter where a store would have them: from the beginning of a cache line on.
class AlignedCopy {
 public:
  explicit AlignedCopy(std::string_view bytes) : size_(bytes.size()) {
    memory_.reset(static_cast<char*>(std::aligned_alloc(64, (size_ + 63) / 64 * 64)));
    std::memcpy(memory_.get(), bytes.data(), size_);
  }

  std::string_view view() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char[], Free> memory_;
  size_t size_;
};

class WinnowSet {
 public:
  // Builds all filters; the spec must be a good one.
  WinnowSet(const std::string& spec, const Size& size);

  // Builds a filter once more, hashing its keys, and returns its bytes.
  static uint64_t BuildOnce(const std::string& spec, const Size& size, uint64_t filter);

  bool MayContain(uint64_t filter, const Key& key) const {
    return readers_[filter].MayContain(filter::HashKey(key.view(), kSeed));
  }
  // kBatch keys of one filter.
  void MayContainBatch(uint64_t filter, const Key* keys, bool* answers) const {
    static_assert(sizeof(bool) == sizeof(uint8_t));
    std::string_view views[kBatch];
    for (size_t i = 0; i < kBatch; ++i) views[i] = keys[i].view();
    readers_[filter].MayContainBatch(views, kBatch, reinterpret_cast<uint8_t*>(answers));
  }
  double bits_per_key() const { return bits_per_key_; }

 private:
  static constexpr uint64_t kSeed = 42;
  static std::string Build(const std::string& spec, const Size& size, uint64_t filter);

  std::vector<AlignedCopy> blocks_;
  std::vector<filter::FilterReader> readers_;
  double bits_per_key_ = 0;
};

#if WINNOW_BENCH_HAS_ROCKSDB

class RocksDbSet {
 public:
  // `spec` is "rocksdb.bloom:BITS" or "rocksdb.ribbon:BITS", the latter in RocksDB's own measure:
  // the bits that a Bloom filter of the same rate would take; or "rocksdb.winnow.SPEC", one of ours
  // through RocksDB's interface.
  RocksDbSet(const std::string& spec, const Size& size);
  ~RocksDbSet();

  static uint64_t BuildOnce(const std::string& spec, const Size& size, uint64_t filter);

  bool MayContain(uint64_t filter, const Key& key) const;
  void MayContainBatch(uint64_t filter, const Key* keys, bool* answers) const;
  double bits_per_key() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

#endif  // WINNOW_BENCH_HAS_ROCKSDB

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_FILTER_SET_H_
