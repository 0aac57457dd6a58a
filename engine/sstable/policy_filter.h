// Collects the keys that a user's FilterPolicy makes its filter from.
#ifndef WINNOW_ENGINE_SSTABLE_POLICY_FILTER_H_
#define WINNOW_ENGINE_SSTABLE_POLICY_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/filter_policy.h"

namespace winnow {

// For one thread. Holds every key, in one buffer, until Finish.
class PolicyFilterBuilder {
 public:
  explicit PolicyFilterBuilder(const FilterPolicy* policy) : policy_(policy) {}

  void Add(std::string_view user_key) {
    key_bytes_.append(user_key);
    key_ends_.push_back(key_bytes_.size());
  }

  uint64_t num_keys() const { return key_ends_.size(); }
  size_t memory_bytes() const {
    return key_bytes_.capacity() + key_ends_.capacity() * sizeof(uint64_t);
  }

  // The policy's filter; empty if there are no keys. Called once.
  std::string Finish() const;

 private:
  const FilterPolicy* const policy_;
  std::string key_bytes_;
  std::vector<uint64_t> key_ends_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_POLICY_FILTER_H_
