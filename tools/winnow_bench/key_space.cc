#include "tools/winnow_bench/key_space.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/random.h"

namespace winnow::bench {
namespace {

constexpr size_t kLargestNumberBytes = 8;
constexpr size_t kCompressiblePieceBytes = 100;
constexpr size_t kValueBufferBytes = size_t{1} << 20;

void WriteBigEndian(uint64_t number, size_t bytes, char* out) {
  for (size_t i = bytes; i-- > 0; number >>= 8) out[i] = static_cast<char>(number & 0xff);
}

// Numbers that `bytes` bytes can tell apart, as far as 64 bits go.
double NumbersIn(size_t bytes) { return std::exp2(8.0 * static_cast<double>(bytes)); }

}  // namespace

KeySpace::KeySpace(const BenchConfig& config)
    : key_bytes_(static_cast<size_t>(config.key_size)),
      prefix_bytes_(static_cast<size_t>(config.prefix_size)),
      number_bytes_(std::min(key_bytes_ - prefix_bytes_, kLargestNumberBytes)),
      numbers_per_prefix_(2 * static_cast<uint64_t>(config.keys_per_prefix)) {}

absl::Status KeySpace::Check(const BenchConfig& config) {
  if (config.prefix_size >= config.key_size) {
    return absl::InvalidArgumentError("--prefix_size must be smaller than --key_size");
  }
  const size_t number_bytes =
      std::min(static_cast<size_t>(config.key_size - config.prefix_size), kLargestNumberBytes);
  // Twice for absent keys, twice again for the keys that ycsbd and ycsbe insert.
  const double numbers = 4.0 * static_cast<double>(config.num);
  if (numbers > NumbersIn(number_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("--num=", config.num, " keys do not fit in ",
                                                   number_bytes, " bytes; raise --key_size"));
  }
  const double prefixes = numbers / 2 / static_cast<double>(config.keys_per_prefix) + 1;
  if (config.prefix_size > 0 && prefixes > NumbersIn(static_cast<size_t>(config.prefix_size))) {
    return absl::InvalidArgumentError(
        "the prefixes do not fit; raise --prefix_size or --keys_per_prefix");
  }
  return absl::OkStatus();
}

void KeySpace::Write(uint64_t number, std::string* key) const {
  key->resize(key_bytes_, '0');
  if (prefix_bytes_ > 0) WriteBigEndian(number / numbers_per_prefix_, prefix_bytes_, key->data());
  WriteBigEndian(number, number_bytes_, key->data() + prefix_bytes_);
  const size_t used = prefix_bytes_ + number_bytes_;
  std::fill(key->begin() + static_cast<ptrdiff_t>(used), key->end(), '0');
}

Permutation::Permutation(uint64_t n, uint64_t seed) : n_(n) {
  high_size_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(n))) + 1;
  low_size_ = n / high_size_ + 1;
  Random random(seed);
  for (uint64_t& key : round_keys_) key = random.Next();
}

uint64_t Permutation::Encrypt(uint64_t x) const {
  uint64_t high = x / low_size_;
  uint64_t low = x % low_size_;
  for (int round = 0; round < kRounds; round += 2) {
    high += ScaleBelow(MixBits(low + round_keys_[round]), high_size_);
    if (high >= high_size_) high -= high_size_;
    low += ScaleBelow(MixBits(high + round_keys_[round + 1]), low_size_);
    if (low >= low_size_) low -= low_size_;
  }
  return high * low_size_ + low;
}

uint64_t Permutation::At(uint64_t position) const {
  uint64_t x = Encrypt(position);
  while (x >= n_) x = Encrypt(x);
  return x;
}

ValueSource::ValueSource(size_t value_bytes, double compression_ratio, uint64_t seed)
    : value_bytes_(value_bytes) {
  Random random(seed);
  const size_t random_bytes = std::max<size_t>(
      1, static_cast<size_t>(std::lround(compression_ratio * kCompressiblePieceBytes)));
  const size_t wanted = std::max(kValueBufferBytes, value_bytes) + kCompressiblePieceBytes;
  while (buffer_.size() < wanted) {
    std::string piece;
    while (piece.size() < random_bytes) piece.push_back(static_cast<char>(' ' + random.Below(95)));
    for (size_t i = 0; i < kCompressiblePieceBytes; i++) {
      buffer_.push_back(piece[i % random_bytes]);
    }
  }
}

std::string_view ValueSource::Next() {
  if (position_ + value_bytes_ > buffer_.size()) position_ = 0;
  const std::string_view value(buffer_.data() + position_, value_bytes_);
  position_ += value_bytes_;
  return value;
}

}  // namespace winnow::bench
