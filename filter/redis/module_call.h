// A BF.* or CF.* command on a key that is a filter of that kind, and on no other.

#ifndef WINNOW_FILTER_REDIS_MODULE_CALL_H_
#define WINNOW_FILTER_REDIS_MODULE_CALL_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/filter/redis/client.h"

namespace winnow::filter::redis {

// Runs "command key argument...", whose first two letters are BF or CF, if the key holds a filter
// of that kind, as one atomic step. NotFound: there is no key. FailedPrecondition: another type.
// Unimplemented, and the server's own errors.
absl::StatusOr<Reply> CallModule(Client* client, std::string_view key, std::string_view command,
                                 std::span<const std::string_view> arguments);

// The same with more arguments than one command takes, in one round trip for each kMaxScripts
// commands: the elements of all answers, which are arrays, in order.
absl::StatusOr<std::vector<Reply>> CallModuleForAll(Client* client, std::string_view key,
                                                    std::string_view command,
                                                    std::span<const std::string_view> prefix,
                                                    std::span<const std::string_view> items);

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_MODULE_CALL_H_
