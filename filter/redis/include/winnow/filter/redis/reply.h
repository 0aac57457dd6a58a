// What a Redis server answers, as a value.

#ifndef WINNOW_FILTER_REDIS_REPLY_H_
#define WINNOW_FILTER_REDIS_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace winnow::filter::redis {

struct Reply {
  enum class Type : uint8_t { kNil, kInteger, kString, kStatus, kError, kArray };

  Type type = Type::kNil;
  int64_t integer = 0;
  std::string text;             // of strings, status lines and errors, without "-"
  std::vector<Reply> elements;  // of arrays

  bool is_error() const { return type == Type::kError; }

  // Ok unless this is an error; then its text, and as code what one does about it:
  // Unavailable (LOADING, CLUSTERDOWN, TRYAGAIN, MASTERDOWN, BUSY, MOVED, ASK: later, or
  // elsewhere), ResourceExhausted (OOM), FailedPrecondition (READONLY, WRONGTYPE), PermissionDenied
  // (NOAUTH, WRONGPASS, NOPERM, DENIED), Unimplemented (unknown command), InvalidArgument (any
  // other).
  absl::Status ToStatus() const;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_REPLY_H_
