// Bytes for filters whose size others decide: a filter that is too large is an error, not the end.

#ifndef WINNOW_FILTER_DYNAMIC_ALLOCATE_BYTES_H_
#define WINNOW_FILTER_DYNAMIC_ALLOCATE_BYTES_H_

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/statusor.h"
#include "filter/dynamic/parameters.h"

namespace winnow::filter::internal {

// So many zero bytes, or ResourceExhausted.
inline absl::StatusOr<std::string> AllocateBytes(uint64_t num_bytes) {
  if (num_bytes > kMaxFilterBytes) return OutOfMemory(num_bytes, 1);
  try {
    return std::string(num_bytes, '\0');
  } catch (const std::bad_alloc&) {
    return OutOfMemory(num_bytes, 1);
  } catch (const std::length_error&) {
    return OutOfMemory(num_bytes, 1);
  }
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_DYNAMIC_ALLOCATE_BYTES_H_
