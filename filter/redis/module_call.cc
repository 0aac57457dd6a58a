#include "filter/redis/module_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "filter/redis/bitmap_state.h"

namespace winnow::filter::redis {
namespace {

// BF.EXISTS of a list is 0, as that of nothing: the type is looked at first. Modules name their
// types as they like, so that those of Redis itself are told apart, and RedisBloom's two.
// `unpack` puts all arguments on Lua's stack, which takes about 8000: kMaxArguments stays below
// that. The script names no key but its first, so that it works in a cluster.
const Script& TypedScript() {
  static const Script* const script = new Script(R"lua(
local kind = redis.call('TYPE', KEYS[1])
kind = kind.ok or kind
if kind == 'none' then return {'missing'} end
local others = {string = 1, list = 1, set = 1, zset = 1, hash = 1, stream = 1}
others[string.sub(ARGV[1], 1, 2) == 'CF' and 'MBbloom--' or 'MBbloomCF'] = 1
if others[kind] then return {'type', kind} end
return {'ok', redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))}
)lua");
  return *script;
}

void AppendCall(std::string_view key, std::string_view command,
                std::span<const std::string_view> prefix, std::span<const std::string_view> items,
                Request* request) {
  const std::string name(key);
  request->BeginScript(TypedScript(), std::span(&name, 1), 1 + prefix.size() + items.size());
  request->Append(command);
  for (const std::string_view argument : prefix) request->Append(argument);
  for (const std::string_view item : items) request->Append(item);
}

absl::StatusOr<Reply> ResultOf(std::string_view key, Reply reply) {
  const absl::StatusOr<std::string> word = WordOf(reply);
  if (!word.ok()) {
    // What a command inside a script says comes with the script's name behind it. Cuckoo filters
    // that may not grow are full, those that may no more have reached their maximum.
    if (absl::IsInvalidArgument(word.status()) &&
        (reply.text.find("full") != std::string::npos ||
         reply.text.find("Maximum expansions reached") != std::string::npos)) {
      return absl::ResourceExhaustedError(word.status().message());
    }
    return word.status();
  }
  if (*word == "missing") {
    return absl::NotFoundError(absl::StrCat(std::string(key), ": there is no such filter"));
  }
  // RedisBloom answers a filter's commands on a key of another type as if nothing were there: taken
  // for "no" that would be a wrong answer.
  if (*word == "type") {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(key),
        ": the key is another type: ", reply.elements.size() > 1 ? reply.elements[1].text : ""));
  }
  if (*word != "ok" || reply.elements.size() != 2) {
    return absl::DataLossError("Redis: an answer that the script does not give");
  }
  return std::move(reply.elements[1]);
}

}  // namespace

absl::StatusOr<Reply> CallModule(Client* client, std::string_view key, std::string_view command,
                                 std::span<const std::string_view> arguments) {
  Request request;
  AppendCall(key, command, {}, arguments, &request);
  absl::StatusOr<std::vector<Reply>> replies = client->Execute(key, request);
  if (!replies.ok()) return replies.status();
  return ResultOf(key, std::move(replies->front()));
}

// Not one step: other clients may come between two scripts. If one of them fails, those before it
// have been done, and the call is an error.
absl::StatusOr<std::vector<Reply>> CallModuleForAll(Client* client, std::string_view key,
                                                    std::string_view command,
                                                    std::span<const std::string_view> prefix,
                                                    std::span<const std::string_view> items) {
  const size_t stride = kMaxArguments - 20;
  std::vector<Reply> all;
  for (size_t begin = 0; begin < items.size();) {
    Request request;
    for (; begin < items.size() && request.num_commands() < kMaxScripts; begin += stride) {
      AppendCall(key, command, prefix, items.subspan(begin, std::min(stride, items.size() - begin)),
                 &request);
    }
    absl::StatusOr<std::vector<Reply>> replies = client->Execute(key, request);
    if (!replies.ok()) return replies.status();
    for (Reply& reply : *replies) {
      absl::StatusOr<Reply> result = ResultOf(key, std::move(reply));
      if (!result.ok()) return result.status();
      for (Reply& element : result->elements) all.push_back(std::move(element));
    }
  }
  // Fewer are possible: a filter that is full ends its array with the error.
  if (all.size() > items.size()) {
    return absl::DataLossError(absl::StrCat("Redis: ", all.size(), " answers to ", items.size()));
  }
  return all;
}

}  // namespace winnow::filter::redis
