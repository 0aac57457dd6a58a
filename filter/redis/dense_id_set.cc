#include <algorithm>

#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "filter/redis/bitmap_state.h"
#include "filter/redis/query_counter.h"
#include "winnow/filter/redis/bit_sets.h"

namespace winnow::filter::redis {
namespace {

// A set whose string is missing or short would deny ids, so that each script compares the length
// first, and does nothing to one that is not whole. Scripts, as the look and the change must be one
// step: between two commands the key could expire, and SETBIT would make it again without the ids
// of before.
//
// ARGV: "set" or "clear", bytes of the whole string, ids. How many bits it has changed.
const Script& ChangeIdsScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('STRLEN', KEYS[1]) < tonumber(ARGV[2]) then return {'missing'} end
local value = ARGV[1] == 'set' and 1 or 0
local changed = 0
for i = 3, #ARGV do
  if redis.call('SETBIT', KEYS[1], ARGV[i], value) ~= value then changed = changed + 1 end
end
return {'ok', changed}
)lua");
  return *script;
}

// ARGV: "ask", bytes of the whole string, ids. A '0' or '1' for each.
const Script& AskIdsScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('STRLEN', KEYS[1]) < tonumber(ARGV[2]) then return {'missing'} end
local answers = {}
for i = 3, #ARGV do answers[i - 2] = redis.call('GETBIT', KEYS[1], ARGV[i]) end
return {'ok', table.concat(answers)}
)lua");
  return *script;
}

// ARGV: "count", bytes of the whole string.
// A script for two reads, so that both are of the same string.
const Script& CountIdsScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('STRLEN', KEYS[1]) < tonumber(ARGV[2]) then return {'missing'} end
return {'ok', redis.call('BITCOUNT', KEYS[1])}
)lua");
  return *script;
}

// ARGV: "create", bytes of the whole string, its last bit.
// Writing the last bit makes the string whole at once. A key that is there, whole or not, is left
// alone: it may be another program's set.
const Script& CreateIdsScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 then return {'exists'} end
return {'ok', redis.call('SETBIT', KEYS[1], ARGV[3], 0)}
)lua");
  return *script;
}

constexpr uint64_t kMostMaxId = (uint64_t{1} << 32) - 1;  // SETBIT's

// Room for the command, the key and the first arguments.
constexpr size_t kIdsOfScript = kMaxArguments - 20;

}  // namespace

class DenseIdSet::Impl {
 public:
  Impl(Client* client, std::string_view key, uint64_t max_id)
      : client_(client), key_(key), max_id_(max_id) {}

  absl::Status Create();
  absl::StatusOr<uint64_t> Change(std::string_view how, std::span<const uint64_t> ids);
  absl::Status Ask(std::span<const uint64_t> ids, std::vector<bool>* answers);
  absl::StatusOr<uint64_t> Count();
  QueryCounter* counter() { return &counter_; }

 private:
  // One script, or as many as the ids need: what each answered behind "ok".
  absl::StatusOr<std::vector<Reply>> Run(const Script& script, std::string_view what,
                                         std::span<const uint64_t> ids);
  // Those of one round trip, for the ids at the front of `*ids`, which it takes away.
  absl::Status RunRound(const Script& script, std::string_view what, std::span<const uint64_t>* ids,
                        std::vector<Reply>* results);

  Client* const client_;
  const std::string key_;
  const uint64_t max_id_;
  QueryCounter counter_;
};

absl::StatusOr<std::vector<Reply>> DenseIdSet::Impl::Run(const Script& script,
                                                         std::string_view what,
                                                         std::span<const uint64_t> ids) {
  if (max_id_ > kMostMaxId) {
    return absl::InvalidArgumentError(
        absl::StrCat(key_, ": ids may be limited to ", kMostMaxId, " at most, not ", max_id_));
  }
  std::vector<Reply> results;
  // At least once, without any id: the script tells whether the set is there.
  do {
    const absl::Status status = RunRound(script, what, &ids, &results);
    if (!status.ok()) return status;
  } while (!ids.empty());
  return results;
}

absl::Status DenseIdSet::Impl::RunRound(const Script& script, std::string_view what,
                                        std::span<const uint64_t>* ids,
                                        std::vector<Reply>* results) {
  Request request;
  do {
    const auto part = ids->first(std::min(kIdsOfScript, ids->size()));
    request.BeginScript(script, std::span(&key_, 1), 2 + part.size());
    request.Append(what);
    // Bytes from 0 up to the one that has the last id.
    request.Append(max_id_ / 8 + 1);
    for (const uint64_t id : part) request.Append(id);
    *ids = ids->subspan(part.size());
  } while (!ids->empty() && request.num_commands() < kMaxScripts);
  absl::StatusOr<std::vector<Reply>> replies = client_->Execute(key_, request);
  if (!replies.ok()) return replies.status();
  for (Reply& reply : *replies) {
    const absl::StatusOr<std::string> word = WordOf(reply);
    if (!word.ok()) return word.status();
    if (*word == "missing") {
      return absl::NotFoundError(
          absl::StrCat(key_, ": there is no such set, it has expired, or its string is not whole"));
    }
    if (*word == "exists") {
      return absl::AlreadyExistsError(absl::StrCat(key_, ": there is such a key"));
    }
    if (*word != "ok" || reply.elements.size() != 2) {
      return absl::DataLossError("Redis: not the script's answer");
    }
    results->push_back(std::move(reply.elements[1]));
  }
  return absl::OkStatus();
}

absl::Status DenseIdSet::Impl::Create() {
  return Run(CreateIdsScript(), "create", std::span(&max_id_, 1)).status();
}

absl::StatusOr<uint64_t> DenseIdSet::Impl::Change(std::string_view how,
                                                  std::span<const uint64_t> ids) {
  // Before anything is sent: an id that is refused by the third script would leave those of the
  // first two changed.
  const auto largest = std::max_element(ids.begin(), ids.end());
  if (largest != ids.end() && *largest > max_id_) {
    return absl::OutOfRangeError(
        absl::StrCat(key_, ": id ", *largest, " is above the limit of ", max_id_));
  }
  const absl::StatusOr<std::vector<Reply>> results = Run(ChangeIdsScript(), how, ids);
  if (!results.ok()) return results.status();
  uint64_t changed = 0;
  for (const Reply& result : *results) changed += static_cast<uint64_t>(result.integer);
  return changed;
}

absl::Status DenseIdSet::Impl::Ask(std::span<const uint64_t> ids, std::vector<bool>* answers) {
  // What cannot be in the set needs no question, but must not fail those beside it.
  std::vector<uint64_t> asked;
  for (const uint64_t id : ids) asked.push_back(std::min(id, max_id_));
  const absl::StatusOr<std::vector<Reply>> results = Run(AskIdsScript(), "ask", asked);
  if (!results.ok()) return results.status();
  std::string bits;
  for (const Reply& result : *results) bits += result.text;
  if (bits.size() != ids.size()) return absl::DataLossError("Redis: not the script's answer");
  // All answers are there: nothing was written while an error was possible, so that a failure
  // leaves every answer at "maybe".
  for (size_t i = 0; i < ids.size(); ++i) (*answers)[i] = bits[i] != '0' && ids[i] <= max_id_;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DenseIdSet::Impl::Count() {
  const absl::StatusOr<std::vector<Reply>> count = Run(CountIdsScript(), "count", {});
  if (!count.ok()) return count.status();
  return static_cast<uint64_t>(count->front().integer);
}

DenseIdSet::DenseIdSet(Client* client, std::string_view key, uint64_t max_id)
    : impl_(std::make_unique<Impl>(client, key, max_id)) {}
DenseIdSet::~DenseIdSet() = default;

absl::Status DenseIdSet::Create() {
  return CatchOutOfMemory([&] { return impl_->Create(); });
}
absl::StatusOr<uint64_t> DenseIdSet::Add(std::span<const uint64_t> ids) {
  return CatchOutOfMemory([&] { return impl_->Change("set", ids); });
}
absl::StatusOr<uint64_t> DenseIdSet::Remove(std::span<const uint64_t> ids) {
  return CatchOutOfMemory([&] { return impl_->Change("clear", ids); });
}
bool DenseIdSet::MayContain(uint64_t id) {
  return impl_->counter()->AnswerForOne([&] { return MayContain(std::span(&id, 1)); });
}

std::vector<bool> DenseIdSet::MayContain(std::span<const uint64_t> ids) {
  std::vector<bool> answers(ids.size(), true);
  if (ids.empty()) return answers;
  const absl::Status status = CatchOutOfMemory([&] { return impl_->Ask(ids, &answers); });
  if (!status.ok()) {
    impl_->counter()->AddUnknown(status, ids.size());
    return answers;
  }
  const auto found = static_cast<uint64_t>(std::count(answers.begin(), answers.end(), true));
  impl_->counter()->AddFound(found);
  impl_->counter()->AddNo(ids.size() - found);
  return answers;
}

absl::StatusOr<uint64_t> DenseIdSet::Count() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<uint64_t> { return impl_->Count(); });
}
QueryCounts DenseIdSet::counts() const { return impl_->counter()->Get(); }

}  // namespace winnow::filter::redis
