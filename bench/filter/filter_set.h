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
#include "winnow/filter/resident_memory.h"

#if WINNOW_BENCH_HAS_ROCKSDB
#include <rocksdb/slice.h>
#endif

namespace winnow::bench {

inline constexpr size_t kBatch = 32;

// Where the filters of a store lie.
enum class Placement {
  kAllocator,  // where RocksDB's block cache has them, but from the beginning of a cache line on
  kResident,   // in ResidentMemory, as a table of Winnow's engine has them
};

// The bytes of a filter.
class FilterCopy {
 public:
  FilterCopy(std::string_view bytes, Placement placement) {
    char* copy;
    if (placement == Placement::kResident) {
      resident_ = filter::ResidentMemory(bytes.size());
      copy = resident_.data();
    } else {
      allocated_.reset(static_cast<char*>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64)));
      copy = allocated_.get();
    }
    std::memcpy(copy, bytes.data(), bytes.size());
    bytes_ = {copy, bytes.size()};
  }

  std::string_view view() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char[], Free> allocated_;
  filter::ResidentMemory resident_;
  std::string_view bytes_;
};

class WinnowSet {
 public:
  // Builds all filters; the spec must be a good one.
  WinnowSet(const std::string& spec, const Size& size, Placement placement);

  // Builds a filter once more, hashing its keys, and returns its bytes.
  static uint64_t BuildOnce(const std::string& spec, const Size& size, uint64_t filter);

  bool MayContain(uint64_t filter, const Key& key) const {
    return readers_[filter].MayContain(filter::HashKey(key.view(), kSeed));
  }
  // Keys as batches take them, of whose bytes it holds the addresses.
  class KeyViews {
   public:
    explicit KeyViews(const std::vector<Key>& keys) {
      for (const Key& key : keys) views_.push_back(key.view());
    }

   private:
    friend class WinnowSet;
    std::vector<std::string_view> views_;
  };
  // kBatch keys from `first` on, of one filter.
  void MayContainBatch(uint64_t filter, const KeyViews& keys, size_t first, bool* answers) const {
    static_assert(sizeof(bool) == sizeof(uint8_t));
    readers_[filter].MayContainBatch(&keys.views_[first], kBatch,
                                     reinterpret_cast<uint8_t*>(answers));
  }
  double bits_per_key() const { return bits_per_key_; }

 private:
  static constexpr uint64_t kSeed = 42;
  static std::string Build(const std::string& spec, const Size& size, uint64_t filter);

  std::vector<FilterCopy> blocks_;
  std::vector<filter::FilterReader> readers_;
  double bits_per_key_ = 0;
};

#if WINNOW_BENCH_HAS_ROCKSDB

class RocksDbSet {
 public:
  // `spec` is "rocksdb.bloom:BITS" or "rocksdb.ribbon:BITS", the latter in RocksDB's own measure:
  // the bits that a Bloom filter of the same rate would take; or "rocksdb.winnow.SPEC", one of ours
  // through RocksDB's interface.
  RocksDbSet(const std::string& spec, const Size& size, Placement placement);
  ~RocksDbSet();

  static uint64_t BuildOnce(const std::string& spec, const Size& size, uint64_t filter);

  bool MayContain(uint64_t filter, const Key& key) const;
  class KeyViews {
   public:
    explicit KeyViews(const std::vector<Key>& keys) {
      for (const Key& key : keys) slices_.emplace_back(key.bytes.data(), key.bytes.size());
      for (rocksdb::Slice& slice : slices_) pointers_.push_back(&slice);
    }

   private:
    friend class RocksDbSet;
    std::vector<rocksdb::Slice> slices_;
    std::vector<rocksdb::Slice*> pointers_;
  };
  void MayContainBatch(uint64_t filter, KeyViews& keys, size_t first, bool* answers) const;
  double bits_per_key() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

#endif  // WINNOW_BENCH_HAS_ROCKSDB

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_FILTER_SET_H_
