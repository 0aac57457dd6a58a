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

// Twice the keys for absent ones, twice again for the keys that ycsbd and ycsbe insert.
double NumbersFor(const BenchConfig& config) { return 4.0 * static_cast<double>(config.num); }

absl::Status CheckPrefixes(const BenchConfig& config) {
  const double prefixes = NumbersFor(config) / 2 / static_cast<double>(config.keys_per_prefix) + 1;
  if (config.prefix_size > 0 &&
      prefixes > NumbersOf(KeyShape::kDbBench, static_cast<size_t>(config.prefix_size))) {
    return absl::InvalidArgumentError(
        "the prefixes do not fit; raise --prefix_size or --keys_per_prefix");
  }
  return absl::OkStatus();
}

}  // namespace

KeySpace::KeySpace(const BenchConfig& config)
    : shape_(FindKeyShape(config.key_shape)->shape),
      num_keys_(config.num_keys()),
      key_bytes_(static_cast<size_t>(config.key_size)),
      prefix_bytes_(static_cast<size_t>(config.prefix_size)),
      number_bytes_(std::min(key_bytes_ - prefix_bytes_, kLargestNumberBytes)),
      numbers_per_prefix_(2 * static_cast<uint64_t>(config.keys_per_prefix)) {}

absl::Status KeySpace::Check(const BenchConfig& config) {
  const KeyShape shape = FindKeyShape(config.key_shape)->shape;
  if (LongestKeyBytes(shape) > 0 && config.key_size != BenchConfig().key_size) {
    return absl::InvalidArgumentError(absl::StrCat("keys of --key_shape=", config.key_shape,
                                                   " have their own length; leave out --key_size"));
  }
  if (shape != KeyShape::kDbBench && config.prefix_size > 0) {
    return absl::InvalidArgumentError("--prefix_size is for --key_shape=db_bench only");
  }
  if (config.prefix_size >= config.key_size) {
    return absl::InvalidArgumentError("--prefix_size must be smaller than --key_size");
  }
  const size_t bytes = static_cast<size_t>(config.key_size - config.prefix_size);
  if (NumbersFor(config) > NumbersOf(shape, bytes)) {
    return absl::InvalidArgumentError(
        LongestKeyBytes(shape) > 0 ? absl::StrCat("--key_shape=", config.key_shape, " has no ",
                                                  config.num, " keys; lower --num")
                                   : absl::StrCat("--num=", config.num, " keys do not fit in ",
                                                  bytes, " bytes; raise --key_size"));
  }
  return CheckPrefixes(config);
}

double KeySpace::MeanKeyBytes() const {
  const uint64_t samples = std::min<uint64_t>(num_keys_, 1000);
  const uint64_t step = num_keys_ / samples;
  std::string key;
  size_t bytes = 0;
  for (uint64_t i = 0; i < samples; i++) {
    Present(i * step, &key);
    bytes += key.size();
  }
  return static_cast<double>(bytes) / static_cast<double>(samples);
}

void KeySpace::Write(uint64_t number, std::string* key) const {
  if (shape_ != KeyShape::kDbBench) return WriteShapedKey(shape_, key_bytes_, number, key);
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

std::string_view ValueSource::Next() { return NextOf(value_bytes_); }

std::string_view ValueSource::NextOf(size_t value_bytes) {
  if (value_bytes > buffer_.size()) {
    large_.clear();
    while (large_.size() < value_bytes) large_.append(buffer_);
    return std::string_view(large_).substr(0, value_bytes);
  }
  if (position_ + value_bytes > buffer_.size()) position_ = 0;
  const std::string_view value(buffer_.data() + position_, value_bytes);
  position_ += value_bytes;
  return value;
}

}  // namespace winnow::bench
