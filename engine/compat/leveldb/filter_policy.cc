#include "leveldb/filter_policy.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/compat/leveldb/conversions.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/sizing.h"

namespace leveldb {

FilterPolicy::~FilterPolicy() = default;

namespace {

constexpr int kMaxBitsPerKey = 64;
constexpr int kMaxProbes = 30;
constexpr uint64_t kProbeMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd

// A standard Bloom filter (Bloom, CACM 1970) whose last byte is the number of probes. The probes of
// a key come from one 64-bit hash that is multiplied on: double hashing (Kirsch and Mitzenmacher,
// ESA 2006) falls short in filters of a few keys, which LevelDB programs build. A database never
// asks this filter: it is for policies that wrap this one.
class BloomPolicy final : public FilterPolicy {
 public:
  explicit BloomPolicy(int bits_per_key)
      : bits_per_key_(std::clamp(bits_per_key, 1, kMaxBitsPerKey)),
        spec_("blocked_bloom:" + std::to_string(bits_per_key_)) {}

  const char* Name() const override { return "leveldb.BuiltinBloomFilter2"; }

  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    constexpr size_t kMinBits = 64;  // tiny filters would say "maybe" to nearly everything
    const size_t bits = std::max(
        kMinBits, static_cast<size_t>(std::max(n, 0)) * static_cast<size_t>(bits_per_key_));
    const size_t bytes = (bits + 7) / 8;
    const int probes =
        std::min(winnow::filter::BestBloomProbes(static_cast<double>(bits_per_key_)), kMaxProbes);
    const size_t begin = dst->size();
    dst->resize(begin + bytes, '\0');
    for (int i = 0; i < n; i++) {
      ForEachBit(keys[i], bytes, probes, [&](size_t byte, unsigned char mask) {
        char& target = (*dst)[begin + byte];
        target = static_cast<char>(static_cast<unsigned char>(target) | mask);
        return true;
      });
    }
    dst->push_back(static_cast<char>(probes));
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    // Nothing was ever appended to an empty filter, so that it holds no key; a single byte has no
    // bits.
    if (filter.size() < 2) return filter.size() == 1;
    const int probes = static_cast<unsigned char>(filter[filter.size() - 1]);
    // A number of probes that this code never writes: "maybe" is right for any filter, as it is for
    // LevelDB's, which keeps such numbers for later forms.
    if (probes > kMaxProbes) return true;  // none of ours
    return ForEachBit(key, filter.size() - 1, probes, [&](size_t byte, unsigned char mask) {
      return (static_cast<unsigned char>(filter[byte]) & mask) != 0;
    });
  }

  const std::string& spec() const { return spec_; }

 private:
  // Visits the key's bits until `visit` is false; true if it never was.
  template <typename Visit>
  static bool ForEachBit(const Slice& key, size_t bytes, int probes, Visit visit) {
    const uint64_t bits = bytes * 8;
    uint64_t hash = winnow::filter::HashKey(ToView(key), 0);
    for (int i = 0; i < probes; i++, hash *= kProbeMultiplier) {
      // The upper half of the hash, scaled to the filter.
      const uint64_t bit = ((hash >> 32) * bits) >> 32;
      if (!visit(static_cast<size_t>(bit / 8), static_cast<unsigned char>(1U << (bit % 8)))) {
        return false;
      }
    }
    return true;
  }

  const int bits_per_key_;
  const std::string spec_;
};

// A policy of the program's own, also one that wraps NewBloomFilterPolicy's to change the keys: its
// answers must come from its own code. The program keeps it until the database is closed.
class WrappedPolicy final : public winnow::FilterPolicy {
 public:
  explicit WrappedPolicy(const leveldb::FilterPolicy* policy) : policy_(policy) {}
  std::string_view Name() const override { return policy_->Name(); }
  void CreateFilter(std::span<const std::string_view> keys, std::string* filter) const override {
    // LevelDB counts keys by int. No filter is right; one without some of the keys would hide them.
    if (keys.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return;
    std::vector<Slice> slices;
    slices.reserve(keys.size());
    for (const std::string_view key : keys) slices.push_back(ToSlice(key));
    policy_->CreateFilter(slices.data(), static_cast<int>(slices.size()), filter);
  }
  bool KeyMayMatch(std::string_view key, std::string_view filter) const override {
    return policy_->KeyMayMatch(ToSlice(key), ToSlice(filter));
  }

 private:
  const leveldb::FilterPolicy* const policy_;
};

}  // namespace

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) { return new BloomPolicy(bits_per_key); }

// By type and not by name: a policy of another class may say it has the same name.
std::string_view BloomSpec(const FilterPolicy* policy) {
  const auto* bloom = dynamic_cast<const BloomPolicy*>(policy);
  return bloom == nullptr ? std::string_view() : std::string_view(bloom->spec());
}

std::unique_ptr<const winnow::FilterPolicy> WrapFilterPolicy(const FilterPolicy* policy) {
  return std::make_unique<WrappedPolicy>(policy);
}

}  // namespace leveldb
