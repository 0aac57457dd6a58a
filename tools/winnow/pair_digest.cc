#include "tools/winnow/pair_digest.h"

#include "winnow/filter/hash.h"

namespace winnow::cli {

void PairDigest::Add(std::string_view key, std::string_view value) {
  num_pairs_++;
  bytes_ += key.size() + value.size();
  checksum_ = filter::HashKey(key, checksum_ + key.size());
  checksum_ = filter::HashKey(value, checksum_ + value.size());
}

}  // namespace winnow::cli
