#include "winnow/filter/redis/reply.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

struct ErrorCode {
  std::string_view prefix;
  absl::StatusCode code;
};

// The first one that matches counts. Those who retry go by the code: Unavailable may be different
// in a moment, FailedPrecondition not before somebody has done something.
constexpr ErrorCode kErrorCodes[] = {
    {"LOADING", absl::StatusCode::kUnavailable},
    {"CLUSTERDOWN", absl::StatusCode::kUnavailable},
    {"TRYAGAIN", absl::StatusCode::kUnavailable},
    {"MASTERDOWN", absl::StatusCode::kUnavailable},
    {"BUSY", absl::StatusCode::kUnavailable},
    {"MOVED", absl::StatusCode::kUnavailable},
    {"ASK", absl::StatusCode::kUnavailable},
    {"ERR max number of clients", absl::StatusCode::kUnavailable},
    {"OOM", absl::StatusCode::kResourceExhausted},
    {"READONLY", absl::StatusCode::kFailedPrecondition},
    {"WRONGTYPE", absl::StatusCode::kFailedPrecondition},
    {"NOAUTH", absl::StatusCode::kPermissionDenied},
    {"WRONGPASS", absl::StatusCode::kPermissionDenied},
    {"NOPERM", absl::StatusCode::kPermissionDenied},
    {"DENIED", absl::StatusCode::kPermissionDenied},
    {"ERR unknown command", absl::StatusCode::kUnimplemented},
};

// Whole words: BUSYKEY is not BUSY. A script's error has the command's behind words of its own in
// some versions.
bool Names(std::string_view text, std::string_view prefix) {
  const bool is_first = text.substr(0, prefix.size()) == prefix &&
                        (text.size() == prefix.size() || text[prefix.size()] == ' ');
  return is_first ||
         text.find(absl::StrCat(" ", std::string(prefix), " ")) != std::string_view::npos;
}

}  // namespace

absl::Status Reply::ToStatus() const {
  if (!is_error()) return absl::OkStatus();
  // Where in a script of ours an error was, as Redis 7 appends it, tells nobody anything.
  const std::string message = absl::StrCat("Redis says: ", text.substr(0, text.find(" script: ")));
  for (const ErrorCode& known : kErrorCodes) {
    if (Names(text, known.prefix)) return absl::Status(known.code, message);
  }
  // Of scripts: "Unknown Redis command called from script".
  if (text.find("nknown Redis command") != std::string::npos ||
      text.find("nknown command") != std::string::npos) {
    return absl::UnimplementedError(message);
  }
  // Most of what begins with "ERR" is a complaint about arguments.
  return absl::InvalidArgumentError(message);
}

}  // namespace winnow::filter::redis
