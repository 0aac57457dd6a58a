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
  // `covering`: of the newest range tombstone there that covers the key; 0: there is none.
  explicit ExplainedChain(SequenceNumber covering) : covering_(covering) {}

  // False: the look-up ends before this version, or with it.
  bool Take(uint64_t trailer) {
    const SequenceNumber sequence = trailer >> 8;
    if (sequence < covering_) return false;
    const auto type = static_cast<EntryType>(trailer & 0xff);
    if (num_operands_ == 0 && type != EntryType::kMerge) {
      answer_ =
          type == EntryType::kDelete ? ExplainStep::Answer::kDeleted : ExplainStep::Answer::kValue;
    } else {
      answer_ = ExplainStep::Answer::kOperand;
    }
    if (!has_newest_) newest_ = sequence;
    has_newest_ = true;
    ended_ = type != EntryType::kMerge;
    if (ended_) ends_with_value_ = IsPut(type);
    num_operands_ += ended_ ? 0 : 1;
    return !ended_;
  }

  bool empty() const { return !has_newest_; }

  // Returns whether the look-up ends here.
  bool Describe(ExplainStep* step) const {
    if (empty() && covering_ != 0) {
      step->answer = ExplainStep::Answer::kRangeDeleted;
      step->sequence = covering_;
      return true;
    }
    step->answer = answer_;
    step->sequence = newest_;
    if (num_operands_ > 0) {
      step->detail =
          absl::StrCat(num_operands_, num_operands_ == 1 ? " operand" : " operands", End());
    }
    return ended_ || covering_ != 0;
  }

 private:
  const char* End() const {
    if (ended_) return ends_with_value_ ? ", then the value" : ", then a deletion";
    return covering_ != 0 ? ", then a range deletion" : "";
  }

  const SequenceNumber covering_;
  ExplainStep::Answer answer_ = ExplainStep::Answer::kAbsent;
  uint64_t newest_ = 0;
  bool has_newest_ = false;
  bool ended_ = false;
  bool ends_with_value_ = false;
  size_t num_operands_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_EXPLAINED_CHAIN_H_
