#include "winnow/filter/redis/guard_cache.h"

#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"

namespace winnow::filter::redis {
namespace {

// Every change is one script, since value and lock belong together: whoever writes a value ends the
// lock in the same step, so that no load that read the database before can store afterwards. A lock
// is a string with the holder's token and a time to live; whoever changes it compares the token
// first. GET of a missing key is false in Lua, which equals no token.
//
// KEYS: value, lock.
const Script& SetScript() {
  static const Script* const script = new Script(R"lua(
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('DEL', KEYS[2])
return 1
)lua");
  return *script;
}

// A lock that is no string, or never ends, is nobody's: who waited for it would wait in vain.
const Script& TryLockScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
redis.call('GET', KEYS[2])
if redis.call('PTTL', KEYS[2]) < 0 then
  return redis.error_reply('WRONGTYPE ' .. KEYS[2] .. ' is no lock: it does not expire')
end
return 0
)lua");
  return *script;
}

// The lock of another holder, or one that has ended, stays as it is.
const Script& RenewScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[2], ARGV[2])
)lua");
  return *script;
}

// One step: a Set or Remove that comes before it has ended the lock, and one that comes after it
// has the last word.
const Script& SetAndUnlockScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return redis.call('DEL', KEYS[2])
)lua");
  return *script;
}

// Without the comparison it could release the lock of somebody who took it after ours had ended.
const Script& UnlockScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[2])
)lua");
  return *script;
}

// Never empty between the braces, and the same up to the first closing one for both names: whatever
// bytes the key has, value and lock share a slot.
std::string ValueName(std::string_view prefix, std::string_view key) {
  std::string name(prefix);
  name.append("{:").append(key).append("}");
  return name;
}

std::string LockName(std::string_view prefix, std::string_view key) {
  return ValueName(prefix, key) + "lock";
}

// PX and PEXPIRE want whole milliseconds above 0.
std::string MillisText(std::chrono::milliseconds ttl) { return absl::StrCat(ttl.count()); }

}  // namespace

GuardCache::GuardCache(Client* client, std::string_view prefix)
    : client_(client), prefix_(prefix) {}

// They would put a key's value and its lock into different slots.
absl::Status GuardCache::CheckPrefix() const {
  if (prefix_.find_first_of("{}") == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Redis cache: braces in the prefix ", prefix_));
}

absl::StatusOr<Reply> GuardCache::Run(const Script& script, std::string_view key,
                                      std::initializer_list<std::string_view> arguments) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Reply> {
    if (absl::Status status = CheckPrefix(); !status.ok()) return status;
    const std::vector<std::string> names = {ValueName(prefix_, key), LockName(prefix_, key)};
    Request request;
    request.BeginScript(script, names, arguments.size());
    for (const std::string_view argument : arguments) request.Append(argument);
    return client_->ExecuteOne(names[0], request);
  });
}

absl::StatusOr<bool> GuardCache::RunForYes(const Script& script, std::string_view key,
                                           std::initializer_list<std::string_view> arguments) {
  const absl::StatusOr<Reply> reply = Run(script, key, arguments);
  if (!reply.ok()) return reply.status();
  // Taken for "no", any other answer would let the guard wait for what does not come.
  if (reply->type != Reply::Type::kInteger || reply->integer < 0 || reply->integer > 1) {
    return absl::DataLossError("Redis: an answer that the script does not give");
  }
  return reply->integer == 1;
}

absl::StatusOr<bool> GuardCache::Get(std::string_view key, std::string* value) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    if (absl::Status status = CheckPrefix(); !status.ok()) return status;
    const std::string name = ValueName(prefix_, key);
    Request request;
    // A plain command: reading needs no lock, and users who may not run scripts can still read.
    request.Command({"GET", name});
    absl::StatusOr<Reply> reply = client_->ExecuteOne(name, request);
    if (!reply.ok()) return reply.status();
    if (reply->type == Reply::Type::kNil) return false;
    if (reply->type != Reply::Type::kString)
      return absl::DataLossError("Redis: GET gives no string");
    *value = std::move(reply->text);
    return true;
  });
}

absl::Status GuardCache::Set(std::string_view key, std::string_view value,
                             std::chrono::milliseconds ttl) {
  return Run(SetScript(), key, {value, MillisText(ttl)}).status();
}

absl::Status GuardCache::Remove(std::string_view key) {
  return CatchOutOfMemory([&]() -> absl::Status {
    if (absl::Status status = CheckPrefix(); !status.ok()) return status;
    const std::string name = ValueName(prefix_, key);
    Request request;
    // One command removes both, so that this is one step without a script.
    request.Command({"UNLINK", name, LockName(prefix_, key)});
    return client_->ExecuteOne(name, request).status();
  });
}

absl::StatusOr<bool> GuardCache::TryLock(std::string_view key, std::string_view token,
                                         std::chrono::milliseconds ttl) {
  return RunForYes(TryLockScript(), key, {token, MillisText(ttl)});
}

absl::StatusOr<bool> GuardCache::RenewLock(std::string_view key, std::string_view token,
                                           std::chrono::milliseconds ttl) {
  return RunForYes(RenewScript(), key, {token, MillisText(ttl)});
}

absl::StatusOr<bool> GuardCache::SetAndUnlock(std::string_view key, std::string_view token,
                                              std::string_view value,
                                              std::chrono::milliseconds ttl) {
  return RunForYes(SetAndUnlockScript(), key, {token, value, MillisText(ttl)});
}

absl::StatusOr<bool> GuardCache::Unlock(std::string_view key, std::string_view token) {
  return RunForYes(UnlockScript(), key, {token});
}

}  // namespace winnow::filter::redis
