// Any bytes as what a cache has of a key: they are not the guard's, and stay as they are, or a
// value and its envelope, which are the same bytes when they are sealed again.

#include <string>

#include "filter/guard/envelope.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using winnow::fuzz::Require;
using winnow::guard::TimePoint;
using winnow::guard::internal::Envelope;

std::string Sealed(std::string value, const Envelope& envelope) {
  winnow::guard::internal::Seal(envelope, &value);
  return value;
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  const TimePoint now(std::chrono::seconds(1'700'000'000));
  return {
      Sealed("value",
             {.is_absent = false, .fresh_until = now, .load_time = std::chrono::milliseconds(5)}),
      Sealed("", {.is_absent = true, .fresh_until = now}),
      Sealed(std::string(1000, '\0'),
             {.fresh_until = TimePoint::max(), .load_time = std::chrono::hours(2)}),
      "value", std::string(16, 'g')};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::string value = bytes;
  Envelope envelope;
  if (!winnow::guard::internal::Open(&value, &envelope)) {
    Require(value == bytes, "foreign bytes are left as they are");
    // What ends otherwise could be a value of a caller's: sealed, it comes back.
    Require(
        winnow::guard::internal::Open(&(value = Sealed(bytes, {})), &envelope) && value == bytes,
        "any bytes are a value");
    return 0;
  }
  Require(bytes.compare(0, value.size(), value) == 0, "the value is what the bytes begin with");
  Require(Sealed(value, envelope) == bytes, "each envelope is written in one way");
  return 0;
}
