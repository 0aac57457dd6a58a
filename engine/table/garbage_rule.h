// When a version of a column goes: any and/or of how many newer ones there are and how old it is.
#ifndef WINNOW_ENGINE_TABLE_GARBAGE_RULE_H_
#define WINNOW_ENGINE_TABLE_GARBAGE_RULE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/table.h"

namespace winnow {

// Every such rule says how many versions are kept of those that are older than some ages: fewer,
// the older they are. Two rules joined by "or" keep what both keep; by "and", what either keeps.
class GarbageRule {
 public:
  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
  static constexpr size_t kMaxTextBytes = 1000;

  struct Limit {
    uint64_t age_ms = 0;    // of a version that is older; 0: of any
    uint64_t versions = 0;  // it goes if there are as many newer ones

    friend bool operator==(const Limit&, const Limit&) = default;
  };

  // Of FamilySchema::garbage_rule. InvalidArgument: what is wrong, and at which byte.
  static absl::StatusOr<GarbageRule> Parse(std::string_view text);
  // Of VERSIONS, TTL and MIN_VERSIONS.
  static GarbageRule Of(const FamilySchema& schema);

  GarbageRule Or(const GarbageRule& other) const;
  GarbageRule And(const GarbageRule& other) const;
  // Whether it lets go what `other` may keep.
  bool IsStricterThan(const GarbageRule& other) const;

  // Ages ascend, versions descend.
  const std::vector<Limit>& limits() const { return limits_; }

 private:
  friend class GarbageRuleParser;
  static GarbageRule Normalized(std::vector<Limit> limits);

  std::vector<Limit> limits_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_GARBAGE_RULE_H_
