// A count and a checksum of the pairs of a column family, to show that two databases hold the same.
#ifndef WINNOW_TOOLS_WINNOW_PAIR_DIGEST_H_
#define WINNOW_TOOLS_WINNOW_PAIR_DIGEST_H_

#include <cstdint>
#include <string_view>

namespace winnow::cli {

// The pairs in order, with the lengths of both halves, so that no other sequence of pairs has the
// same input. XXH3-64 chained: the digest so far is the seed of the next hash.
class PairDigest {
 public:
  void Add(std::string_view key, std::string_view value);

  uint64_t num_pairs() const { return num_pairs_; }
  uint64_t bytes() const { return bytes_; }  // of keys and values
  uint64_t checksum() const { return checksum_; }
  friend bool operator==(const PairDigest&, const PairDigest&) = default;

 private:
  uint64_t num_pairs_ = 0;
  uint64_t bytes_ = 0;
  uint64_t checksum_ = 0;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_PAIR_DIGEST_H_
