// A value read without copying it.
#ifndef WINNOW_PINNED_VALUE_H_
#define WINNOW_PINNED_VALUE_H_

#include <string>
#include <string_view>

namespace winnow {

// Holds the block that a value lies in (or a copy, where the value came from memory), so that the
// bytes stay valid until Reset, reuse or destruction. Move-only; used by one thread at a time; must
// be reset before the database is closed.
class PinnedValue {
 public:
  PinnedValue() = default;
  ~PinnedValue() { Reset(); }
  PinnedValue(PinnedValue&& other) noexcept;
  PinnedValue& operator=(PinnedValue&& other) noexcept;
  PinnedValue(const PinnedValue&) = delete;
  PinnedValue& operator=(const PinnedValue&) = delete;

  std::string_view view() const { return view_; }
  bool is_pinned() const { return release_ != nullptr; }  // false: the bytes are a copy
  void Reset();

 private:
  friend class PinnedValueAccess;
  std::string_view view_;
  std::string copy_;
  // The pin, as whoever set release_ laid it out.
  struct Pin {
    void* words[3];
  };
  Pin pin_{};
  void (*release_)(const Pin&) = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_PINNED_VALUE_H_
