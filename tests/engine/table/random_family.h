// What a random history of a table draws before it begins: settings of the store, and families.
#ifndef WINNOW_TESTS_ENGINE_TABLE_RANDOM_FAMILY_H_
#define WINNOW_TESTS_ENGINE_TABLE_RANDOM_FAMILY_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/table/table_model.h"
#include "tests/support/db_fixture.h"
#include "winnow/compaction_style.h"
#include "winnow/table.h"

namespace winnow {

class RandomFamilies {
 public:
  explicit RandomFamilies(std::mt19937_64* random) : random_(*random) {}

  // Without fifo, which drops what rules keep.
  Options StoreOptions(bool is_busy) {
    using Kind = CompactionStyle::Kind;
    Options options = is_busy ? MemoryDb::Busy() : MemoryDb::Quiet();
    options.compaction.kind = Pick<Kind>({Kind::kLeveled, Kind::kLazyLeveled, Kind::kTiered});
    options.memtable_filter_ratio = Pick<double>({0, 0.02, 0.25});
    return options;
  }

  FamilySchema Family(std::string name) {
    FamilySchema family{.name = std::move(name)};
    family.max_versions = static_cast<uint32_t>(1 + Below(3));
    if (Below(4) == 0) family.max_versions = kUnlimitedVersions;
    if (Below(2) == 0) {
      family.ttl_seconds = 1 + Below(20);
      family.min_versions = static_cast<uint32_t>(Below(std::min(3u, family.max_versions)));
    }
    if (Below(4) == 0) {
      family = FamilySchema{.name = family.name};
      const auto& rules = NamedGarbageRules();
      family.garbage_rule = std::string(rules[Below(rules.size())].text);
    }
    family.bloom_filter = BloomFilter();
    family.filter = Filter();
    family.signature = Signature();
    return family;
  }
  std::string BloomFilter() {
    return Pick<std::string>({"ROW", "ROWCOL", "NONE", "ROWPREFIX_FIXED_LENGTH:2",
                              "ROWPREFIX_DELIMITED:1", "ROWPREFIX_DELIMITED:\\x00",
                              "prefix:8+component:1+component:2", "delimiter:x+component:2"});
  }
  // Small ones, so that false positives come.
  std::string Filter() {
    return Pick<std::string>({"blocked_bloom:10", "blocked_bloom:2", "bloom:10", "ribbon:1%",
                              "cuckoo:1%", "binary_fuse:1%", "auto", "none"});
  }
  std::string Signature() {
    return Pick<std::string>({"", "x", "y,x", std::string("x,x\0", 4), "other"});
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  template <typename Choice>
  Choice Pick(const std::vector<Choice>& choices) {
    return choices[Below(choices.size())];
  }

  std::mt19937_64& random_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_TABLE_RANDOM_FAMILY_H_
