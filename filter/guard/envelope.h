// What the guard stores in the cache: see FORMAT.md. Internal.

#ifndef WINNOW_GUARD_ENVELOPE_H_
#define WINNOW_GUARD_ENVELOPE_H_

#include <chrono>
#include <string>
#include <string_view>

#include "winnow/guard/environment.h"

namespace winnow::guard::internal {

struct Envelope {
  bool is_absent = false;  // the database has no such row; the value is empty
  TimePoint fresh_until;
  std::chrono::microseconds load_time{0};  // at most 71 minutes are stored
};

// Appends the envelope to a value.
void Seal(const Envelope& envelope, std::string* value);
// Takes it off again. False if there is none: the bytes are somebody else's.
bool Open(std::string* sealed, Envelope* envelope);

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_ENVELOPE_H_
