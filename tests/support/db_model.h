// What a database must answer, kept in sorted maps.
#ifndef WINNOW_TESTS_SUPPORT_DB_MODEL_H_
#define WINNOW_TESTS_SUPPORT_DB_MODEL_H_

#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/comparator.h"
#include "winnow/compression.h"
#include "winnow/options.h"

namespace winnow {

struct ModelOrder {
  const Comparator* comparator = BytewiseComparator();
  bool operator()(const std::string& a, const std::string& b) const {
    return comparator->Compare(a, b) < 0;
  }
};
using ModelFamily = std::map<std::string, std::string, ModelOrder>;

// The newest write decides which of several equal keys is stored.
inline void PutInModel(ModelFamily* family, const std::string& key, const std::string& value) {
  family->erase(key);
  family->emplace(key, value);
}

// The part of `family` in [lower, upper).
inline ModelFamily Bounded(const ModelFamily& family, const std::optional<std::string>& lower,
                           const std::optional<std::string>& upper) {
  ModelFamily bounded(family.key_comp());
  for (const auto& [key, value] : family) {
    if (lower.has_value() && family.key_comp()(key, *lower)) continue;
    if (upper.has_value() && !family.key_comp()(key, *upper)) continue;
    bounded.emplace(key, value);
  }
  return bounded;
}

// Makes keys that collide, share prefixes, hold delimiters and every byte, and are sometimes long
// or empty.
class KeyMaker {
 public:
  explicit KeyMaker(std::mt19937_64* random) : random_(*random) {
    for (int i = 0; i < 400; i++) pool_.push_back(Fresh());
    pool_.emplace_back();
  }

  // Mostly a key that was used before.
  std::string Any() { return Below(10) == 0 ? Fresh() : pool_[Below(pool_.size())]; }
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  std::string Value() {
    const uint64_t shape = Below(20);
    const size_t bytes = shape == 0 ? Below(6000) : shape < 4 ? 0 : Below(150);
    std::string value(bytes, static_cast<char>('a' + Below(26)));
    value += std::to_string(random_());
    return value;
  }

 private:
  std::string Fresh() {
    using namespace std::string_view_literals;
    switch (Below(6)) {
      case 0:
        return RandomBytes(Below(8), "\x00\x01:\x7f\x80\xff"sv);
      case 1: {
        const std::string user = std::to_string(Below(20));
        return "user:" + user + ":" + std::to_string(Below(30));
      }
      case 2:
        return "user" + RandomBytes(Below(9), "ab:\xff"sv);
      case 3:
        return std::string(30, 'p') + RandomBytes(Below(12), "xyz"sv);
      case 4:
        return RandomBytes(8 + Below(200), "Aa"sv);
      default:
        return std::to_string(Below(500));
    }
  }
  std::string RandomBytes(size_t length, std::string_view alphabet) {
    std::string bytes;
    for (size_t i = 0; i < length; i++) bytes += alphabet[Below(alphabet.size())];
    return bytes;
  }

  std::mt19937_64& random_;
  std::vector<std::string> pool_;
};

// Random settings of a column family that make many small files, blocks and levels.
inline void ChooseFamilyOptions(std::mt19937_64& random, ColumnFamilyOptions* options) {
  const auto pick = [&](auto... choices) {
    const std::vector<std::common_type_t<decltype(choices)...>> all{choices...};
    return all[random() % all.size()];
  };
  const Comparator& comparator = *options->comparator;
  if (comparator.EqualKeysHaveEqualBytes()) {
    options->filter = pick("blocked_bloom:10", "bloom:10", "cuckoo:1%", "none", "blocked_bloom:2",
                           "binary_fuse:1%", "ribbon:1%", "auto");
    if (&comparator == BytewiseComparator()) {
      if (random() % 3 == 0) options->filter += pick("+range:4", "+range:14");
      options->filter_key =
          pick("whole", "prefix:4", "prefix:1", "delimiter::", "delimiter:::2", "prefix:30",
               "component:1", "whole+prefix:4", "whole+prefix:1+delimiter::+delimiter:::2",
               "prefix:4+prefix:1", "whole+component:1+component:2");
    }
  }
  options->compression =
      pick(Compression::kNone, Compression::kSnappy, Compression::kLz4, Compression::kZstd);
  options->write_buffer_bytes = pick(64, 64, 128, 1024) << 10;
  options->memtable_filter_ratio = pick(0.0, 0.02, 0.25);
  options->key_hashes_ratio = pick(0.0, 0.02, 1.0);
  options->block_bytes = pick(256, 1024, 4096, 65536);
  options->block_restart_interval = pick(1, 3, 16);
  options->target_file_bytes = pick(64, 64, 256) << 10;
  options->level_base_bytes = pick(64, 128) << 10;
  options->level_size_multiplier = pick(2.0, 4.0);
  options->level0_compaction_trigger = pick(1, 2, 4);
  options->max_write_buffers = pick(2, 3, 5);
  // With so large a limit fifo drops nothing.
  using Kind = CompactionStyle::Kind;
  options->compaction =
      pick(CompactionStyle{}, CompactionStyle{}, CompactionStyle{Kind::kTiered, 0},
           CompactionStyle{Kind::kLazyLeveled, 0}, CompactionStyle::Fifo(uint64_t{1} << 40));
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_DB_MODEL_H_
