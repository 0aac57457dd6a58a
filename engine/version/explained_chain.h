// How an explanation tells of the versions of a key in one place, newest first, where the newest
// is a merge operand.
#ifndef WINNOW_ENGINE_VERSION_EXPLAINED_CHAIN_H_
#define WINNOW_ENGINE_VERSION_EXPLAINED_CHAIN_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "engine/base/internal_key.h"
#include "winnow/explain.h"

namespace winnow {

class ExplainedChain {
 public:
  // False: the look-up ends with this version.
  bool Take(uint64_t trailer) {
    const auto type = static_cast<EntryType>(trailer & 0xff);
    if (num_operands_ == 0 && type != EntryType::kMerge) {
      answer_ =
          type == EntryType::kDelete ? ExplainStep::Answer::kDeleted : ExplainStep::Answer::kValue;
    } else {
      answer_ = ExplainStep::Answer::kOperand;
    }
    if (!has_newest_) newest_ = trailer >> 8;
    has_newest_ = true;
    ended_ = type != EntryType::kMerge;
    if (ended_) ends_with_value_ = IsPut(type);
    num_operands_ += ended_ ? 0 : 1;
    return !ended_;
  }

  bool empty() const { return !has_newest_; }
  bool ended() const { return ended_; }

  void Describe(ExplainStep* step) const {
    step->answer = answer_;
    step->sequence = newest_;
    if (num_operands_ == 0) return;
    step->detail = absl::StrCat(num_operands_, num_operands_ == 1 ? " operand" : " operands",
                                !ended_            ? ""
                                : ends_with_value_ ? ", then the value"
                                                   : ", then a deletion");
  }

 private:
  ExplainStep::Answer answer_ = ExplainStep::Answer::kAbsent;
  uint64_t newest_ = 0;
  bool has_newest_ = false;
  bool ended_ = false;
  bool ends_with_value_ = false;
  size_t num_operands_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_EXPLAINED_CHAIN_H_
