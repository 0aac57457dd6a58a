// What filters are asked about keys with one beginning.
#ifndef WINNOW_ENGINE_BASE_PREFIX_QUESTION_H_
#define WINNOW_ENGINE_BASE_PREFIX_QUESTION_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "winnow/filter/filter_key.h"

namespace winnow {

// The prefix is hashed once for all filters that know one kind of parts under one seed, which those
// of a column family mostly do. Borrows prefix and extractors. For one thread.
class PrefixQuestion {
 public:
  explicit PrefixQuestion(std::string_view prefix) : prefix_(prefix) {}

  std::string_view prefix() const { return prefix_; }
  // Null: keys that begin so need have no part in common that the extractor knows. Valid until the
  // next call.
  const filter::FilterKeyExtractor::Question* For(const filter::FilterKeyExtractor& extractor,
                                                  uint64_t hash_seed) {
    const bool is_as_before = asked_ != nullptr && hash_seed_ == hash_seed &&
                              (asked_ == &extractor || *asked_ == extractor);
    if (!is_as_before) {
      question_ = extractor.QuestionOfPrefix(prefix_, hash_seed);
      asked_ = &extractor;
      hash_seed_ = hash_seed;
    }
    return question_.has_value() ? &*question_ : nullptr;
  }

 private:
  const std::string_view prefix_;
  const filter::FilterKeyExtractor* asked_ = nullptr;
  uint64_t hash_seed_ = 0;
  std::optional<filter::FilterKeyExtractor::Question> question_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_PREFIX_QUESTION_H_
