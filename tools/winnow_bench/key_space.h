// Which keys and values a run uses: key bytes, the order in which they are visited, value bytes.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_KEY_SPACE_H_
#define WINNOW_TOOLS_WINNOW_BENCH_KEY_SPACE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/key_shape.h"

namespace winnow::bench {

// The bytes of keys, in the shape that --key_shape names. Key number i, present in the database for
// i < num, is written from the even number 2i; the absent key beside it from 2i + 1. Order of
// numbers is order of bytes, but for the shape uuid.
class KeySpace {
 public:
  explicit KeySpace(const BenchConfig& config);

  // InvalidArgument if the shape of `config`, a known one, cannot take its other flags or has fewer
  // keys than the run needs. The constructor wants a config that has passed.
  static absl::Status Check(const BenchConfig& config);

  // Both write the key over `*key`.
  void Present(uint64_t index, std::string* key) const { Write(2 * index, key); }
  void Absent(uint64_t index, std::string* key) const { Write(2 * index + 1, key); }

  // Of a present key, on average.
  double MeanKeyBytes() const;

 private:
  void Write(uint64_t number, std::string* key) const;

  KeyShape shape_;
  uint64_t num_keys_;
  size_t key_bytes_;
  size_t prefix_bytes_;
  size_t number_bytes_;
  uint64_t numbers_per_prefix_;
};

// A pseudo-random order of [0, n) in constant memory: a Feistel network over two digits whose
// product covers n, walked until the result is below n (Black and Rogaway, "Ciphers with Arbitrary
// Finite Domains", 2002).
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed);

  // The `position`-th number of the order; position < n.
  uint64_t At(uint64_t position) const;

 private:
  static constexpr int kRounds = 6;
  uint64_t Encrypt(uint64_t x) const;

  uint64_t n_;
  uint64_t high_size_;
  uint64_t low_size_;
  uint64_t round_keys_[kRounds];
};

// Values that compress to a wanted share of their size, cut one after another from a buffer, as
// db_bench does.
class ValueSource {
 public:
  ValueSource(size_t value_bytes, double compression_ratio, uint64_t seed);

  // Valid until the source is destroyed.
  std::string_view Next();
  // One of so many bytes, valid until the next call.
  std::string_view NextOf(size_t value_bytes);

 private:
  size_t value_bytes_;
  size_t position_ = 0;
  std::string buffer_;
  std::string large_;  // of a value larger than that
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_KEY_SPACE_H_
