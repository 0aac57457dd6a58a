#include "filter/kinds/bloom/bloom_unit.h"

#include <bit>
#include <cstring>
#include <string_view>

namespace winnow::filter::internal {
namespace {

// Of payloads, which may begin at any address: words are copied out.
uint64_t CountOnes(std::string_view bytes) {
  uint64_t ones = 0;
  size_t offset = 0;
  for (; offset + sizeof(uint64_t) <= bytes.size(); offset += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + offset, sizeof(word));
    ones += static_cast<uint64_t>(std::popcount(word));
  }
  for (; offset < bytes.size(); ++offset) {
    ones += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(bytes[offset])));
  }
  return ones;
}

}  // namespace

bool HasBloomFields(const UnitHeader& header, int max_probes) {
  if (header.parameter < 1 || header.parameter > max_probes) return false;
  if (header.detail != 0 || header.num_shards == 0) return false;
  // A key takes at least a bit. Division, since a product could wrap.
  return header.num_keys != 0 && header.num_keys / 8 <= header.payload_bytes;
}

UnitDescription DescribeBloom(const Unit& unit, double expected_fpr) {
  UnitDescription description;
  description.probes = unit.header.parameter;
  description.expected_fpr = expected_fpr;
  description.fill =
      static_cast<double>(CountOnes(unit.payload)) / (static_cast<double>(unit.payload.size()) * 8);
  return description;
}

// Bisection. The rate falls with the bits, but for tiny steps up where the number of probes
// changes: those are far below the thousandth to which the result is given.
double MinBloomBits(double (*expected_fpr)(double bits_per_key, uint64_t num_keys), double fpr) {
  double low = 1;
  double high = 64;
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    (expected_fpr(middle, 1'000'000) <= fpr ? high : low) = middle;
  }
  return high;
}

}  // namespace winnow::filter::internal
