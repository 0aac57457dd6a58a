#include "filter/guard/envelope.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

namespace winnow::guard::internal {
namespace {

// At the end of what is stored, so that taking it off moves no byte of the value.
constexpr size_t kTrailerBytes = 16;
// FORMAT.md has the table. A process with another version takes the bytes for none of its own,
// loads anew and overwrites them, so that versions may run side by side.
constexpr uint8_t kVersion = 1;

// Byte by byte: little-endian on any machine, since processes that share a cache need not be alike.
template <typename Integer>
void Put(Integer number, uint8_t* to) {
  for (size_t i = 0; i < sizeof(number); ++i) {
    to[i] = static_cast<uint8_t>(static_cast<uint64_t>(number) >> (8 * i));
  }
}

template <typename Integer>
Integer Take(const uint8_t* from) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) number |= uint64_t{from[i]} << (8 * i);
  return static_cast<Integer>(number);
}

}  // namespace

void Seal(const Envelope& envelope, std::string* value) {
  std::array<uint8_t, kTrailerBytes> trailer{};
  Put<int64_t>(envelope.fresh_until.time_since_epoch().count(), &trailer[0]);
  // A clock that was set back gives a negative time, which counts as none: such a value is never
  // refreshed early.
  Put<uint32_t>(static_cast<uint32_t>(std::clamp<int64_t>(envelope.load_time.count(), 0,
                                                          std::numeric_limits<uint32_t>::max())),
                &trailer[8]);
  trailer[12] = envelope.is_absent ? 1 : 0;
  trailer[13] = kVersion;
  trailer[14] = 'W';
  trailer[15] = 'g';
  value->append(reinterpret_cast<const char*>(trailer.data()), trailer.size());
}

bool Open(std::string* sealed, Envelope* envelope) {
  if (sealed->size() < kTrailerBytes) return false;
  const size_t value_bytes = sealed->size() - kTrailerBytes;
  std::array<uint8_t, kTrailerBytes> trailer;
  std::memcpy(trailer.data(), sealed->data() + value_bytes, kTrailerBytes);
  if (trailer[15] != 'g' || trailer[14] != 'W' || trailer[13] != kVersion || trailer[12] > 1) {
    return false;
  }
  envelope->is_absent = trailer[12] != 0;
  envelope->fresh_until = TimePoint(std::chrono::microseconds(Take<int64_t>(&trailer[0])));
  envelope->load_time = std::chrono::microseconds(Take<uint32_t>(&trailer[8]));
  // Shrinking keeps the buffer: Get's caller uses it again.
  sealed->resize(value_bytes);
  return true;
}

}  // namespace winnow::guard::internal
