#include "engine/table/regular_expression.h"

#include <algorithm>

#include "filter/base/per_thread.h"

namespace winnow {

namespace {

bool IsWordByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

}  // namespace

// A set that is emptied in no time: a step is in it if the list has it at the place that it names.
// (Briggs and Torczon, "An Efficient Representation for Sparse Sets", 1993). What places_ holds of
// other steps is left over, from other texts and expressions too, and means nothing.
class RegularExpression::Places {
 public:
  void Reset(size_t num_steps) {
    if (places_.size() < num_steps) places_.resize(num_steps);
    steps_.clear();
    if (steps_.capacity() < num_steps) steps_.reserve(num_steps);
  }
  bool Add(uint32_t step) {
    const uint32_t place = places_[step];
    if (place < steps_.size() && steps_[place] == step) return false;
    places_[step] = static_cast<uint32_t>(steps_.size());
    steps_.push_back(step);
    return true;
  }
  const std::vector<uint32_t>& steps() const { return steps_; }

  std::vector<uint32_t> pending;  // of Reach

 private:
  std::vector<uint32_t> steps_;
  std::vector<uint32_t> places_;
};

// What lies beyond the ends of the text counts as no word.
bool RegularExpression::IsWordEdge(std::string_view text, size_t position) {
  const bool before = position > 0 && IsWordByte(text[position - 1]);
  const bool behind = position < text.size() && IsWordByte(text[position]);
  return before != behind;
}

// A list instead of recursion: a pattern may have as many splits in a row as it has bytes.
bool RegularExpression::Reach(uint32_t first, std::string_view text, size_t position,
                              Places* places) const {
  std::vector<uint32_t>& pending = places->pending;
  pending.assign(1, first);
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    // Once for each position: an empty loop, as in (a*)*, ends here, and a position costs O(steps).
    if (!places->Add(at)) continue;
    const Step& step = steps_[at];
    bool goes_on = false;
    switch (step.kind) {
      case Step::Kind::kMatch:
        // Only whether there is a match is asked, not where it ends.
        return true;
      case Step::Kind::kBytes:
        break;
      case Step::Kind::kSplit:
        pending.push_back(step.operand);
        goes_on = true;
        break;
      case Step::Kind::kJump:
        pending.push_back(step.operand);
        break;
      case Step::Kind::kTextBegin:
        goes_on = position == 0;
        break;
      case Step::Kind::kTextEnd:
        goes_on = position == text.size();
        break;
      case Step::Kind::kLineEnd:
        goes_on = position == text.size() || (position + 1 == text.size() && text.back() == '\n');
        break;
      case Step::Kind::kWordEdge:
        goes_on = IsWordEdge(text, position);
        break;
      case Step::Kind::kNoWordEdge:
        goes_on = !IsWordEdge(text, position);
        break;
    }
    if (goes_on) pending.push_back(at + 1);
  }
  return false;
}

// O(text x steps) at worst. The sets are those of the thread, so that a match allocates nothing
// once they are large enough.
bool RegularExpression::FindIn(std::string_view text) const {
  struct Buffers {
    Places now;
    Places next;
  };
  Buffers& buffers = PerThread<Buffers>::Get();
  Places* now = &buffers.now;
  Places* next = &buffers.next;
  now->Reset(steps_.size());
  for (size_t position = 0;; position++) {
    // A match may begin anywhere.
    if (Reach(0, text, position, now)) return true;
    if (position == text.size()) return false;
    // `now` has what can be reached at this position, `next` what can be one byte further on.
    next->Reset(steps_.size());
    for (const uint32_t at : now->steps()) {
      const Step& step = steps_[at];
      if (step.kind != Step::Kind::kBytes) continue;
      if (!sets_[step.operand][static_cast<uint8_t>(text[position])]) continue;
      if (Reach(at + 1, text, position + 1, next)) return true;
    }
    std::swap(now, next);
  }
}

}  // namespace winnow
