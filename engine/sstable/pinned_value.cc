#include "winnow/pinned_value.h"

#include <utility>

// What a pin holds is known to whoever set `release_`, so that the public header need not know
// blocks.
namespace winnow {

PinnedValue::PinnedValue(PinnedValue&& other) noexcept { *this = std::move(other); }

PinnedValue& PinnedValue::operator=(PinnedValue&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  const bool is_copy = !other.is_pinned();
  copy_ = std::move(other.copy_);
  // A short string moves its bytes with it, so that the view of a copy is taken anew; pinned bytes
  // stay where they are.
  view_ = is_copy ? std::string_view(copy_) : other.view_;
  pin_ = other.pin_;
  release_ = std::exchange(other.release_, nullptr);
  other.view_ = {};
  return *this;
}

void PinnedValue::Reset() {
  if (release_ != nullptr) std::exchange(release_, nullptr)(pin_);
  view_ = {};
}

}  // namespace winnow
