#include "winnow/filter/redis/module_filter.h"

#include <charconv>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "filter/redis/bitmap_state.h"
#include "filter/redis/key_slot.h"
#include "filter/redis/module_call.h"
#include "filter/redis/query_counter.h"

namespace winnow::filter::redis {
namespace {

using Items = std::span<const std::string_view>;

// Each double has a text of its own.
std::string Number(double value) {
  char text[32];
  // 17 significant digits tell all doubles apart, whatever the server parses them with.
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 17);
  return std::string(text, end.ptr);
}

// Reserves; "item exists" and the like in its place.
absl::Status RunReserve(Client* client, std::string_view key,
                        const std::vector<std::string>& words) {
  return CatchOutOfMemory([&]() -> absl::Status {
    Request request;
    request.Begin(words.size());
    for (const std::string& word : words) request.Append(word);
    const absl::Status status = client->ExecuteOne(key, request).status();
    // RedisBloom says "item exists", others have words of their own around "exists".
    if (absl::IsInvalidArgument(status) && (status.message().find("exists") != std::string::npos)) {
      return absl::AlreadyExistsError(absl::StrCat(std::string(key), ": ", status.message()));
    }
    return status;
  });
}

absl::Status FullError(std::string_view key, const std::string& text) {
  return absl::ResourceExhaustedError(absl::StrCat(std::string(key), ": ", text));
}

// How many of the answers are 1. An element may be an error: the filter became full.
absl::StatusOr<uint64_t> CountAdded(std::string_view key, const std::vector<Reply>& answers,
                                    size_t num_items) {
  uint64_t added = 0;
  for (const Reply& answer : answers) {
    if (answer.is_error()) return FullError(key, answer.text);
    // CF.INSERT gives -1 for a key without room, where BF.MADD puts an error.
    if (answer.integer < 0) return FullError(key, "the filter is full");
    added += static_cast<uint64_t>(answer.integer);
  }
  if (answers.size() != num_items) return FullError(key, "not all keys were added");
  return added;
}

// A cuckoo filter's single commands exist everywhere; so the facade needs no others.
absl::StatusOr<bool> CallForOne(Client* client, std::string_view key, std::string_view command,
                                std::string_view item) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    const absl::StatusOr<Reply> reply = CallModule(client, key, command, Items(&item, 1));
    if (!reply.ok()) return reply.status();
    if (reply->type != Reply::Type::kInteger) {
      return absl::DataLossError("Redis: an answer that is neither 0 nor 1");
    }
    return reply->integer == 1;
  });
}

std::vector<std::string> BloomReserveWords(std::string_view key, const RedisBloomOptions& options) {
  std::vector<std::string> words = {"BF.RESERVE", std::string(key), Number(options.error_rate),
                                    absl::StrCat(options.capacity)};
  if (options.expansion == 0) {
    // Old versions refuse EXPANSION 0, which means the same to newer ones.
    words.emplace_back("NONSCALING");
  } else {
    words.insert(words.end(), {"EXPANSION", absl::StrCat(options.expansion)});
  }
  return words;
}

std::vector<std::string> CuckooReserveWords(std::string_view key,
                                            const RedisBloomCuckooOptions& options) {
  return {"CF.RESERVE",
          std::string(key),
          absl::StrCat(options.capacity),
          "BUCKETSIZE",
          absl::StrCat(options.bucket_size),
          "MAXITERATIONS",
          absl::StrCat(options.max_iterations),
          "EXPANSION",
          absl::StrCat(options.expansion)};
}

// KEYS: what was loaded, and the name it is to have.
// RENAMENX and PERSIST in one step: between the two a client could see a filter that is about to
// expire.
const Script& PublishScript() {
  static const Script* const script = new Script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 0 then return {'missing'} end
if redis.call('RENAMENX', KEYS[1], KEYS[2]) == 0 then return {'exists'} end
redis.call('PERSIST', KEYS[2])
return {'ok'}
)lua");
  return *script;
}

absl::Status ExistsError(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat(name, ": there is such a key"));
}

}  // namespace

class ModuleFilter::Impl {
 public:
  Impl(Client* client, std::string_view name, Kind kind)
      : client_(client), name_(name), kind_(kind) {}

  Client* client() const { return client_; }
  const std::string& name() const { return name_; }
  bool is_bloom() const { return kind_ == Kind::kBloom; }
  // "BF." or "CF." and the rest.
  std::string Command(std::string_view rest) const {
    return absl::StrCat(is_bloom() ? "BF." : "CF.", std::string(rest));
  }
  absl::Status MayContain(Items keys, std::vector<bool>* answers);
  // Loads chunks into `key`, which expires if no more come; then gives it the filter's name.
  absl::Status Load(std::span<const RedisBloomChunk> chunks, const std::string& key);
  absl::Status Publish(const std::string& key);
  QueryCounter* counter() { return &counter_; }

 private:
  Client* const client_;
  const std::string name_;
  const Kind kind_;
  QueryCounter counter_;
};

// `*answers` is changed only once every reply has been looked at: after an error all of it is still
// "maybe".
absl::Status ModuleFilter::Impl::MayContain(Items keys, std::vector<bool>* answers) {
  const absl::StatusOr<std::vector<Reply>> replies =
      CallModuleForAll(client_, name_, Command("MEXISTS"), {}, keys);
  if (!replies.ok()) return replies.status();
  if (replies->size() != keys.size()) return absl::DataLossError("Redis: answers are missing");
  for (const Reply& reply : *replies) {
    if (reply.type != Reply::Type::kInteger) return absl::DataLossError("Redis: not 0 or 1");
  }
  for (size_t i = 0; i < keys.size(); ++i) (*answers)[i] = (*replies)[i].integer != 0;
  return absl::OkStatus();
}

absl::Status ModuleFilter::Impl::Load(std::span<const RedisBloomChunk> chunks,
                                      const std::string& key) {
  // From one chunk to the next no more than a command's time passes, and connecting.
  const ClientOptions& options = client_->options();
  const std::chrono::milliseconds ttl =
      std::chrono::minutes(1) + 2 * (options.command_timeout + options.connect_timeout);
  for (const RedisBloomChunk& chunk : chunks) {
    Request request;
    request.Command({Command("LOADCHUNK"), key, absl::StrCat(chunk.iterator), chunk.data});
    // Behind each chunk, in the same round trip: if this process dies, the server clears up.
    request.Command({"PEXPIRE", key, absl::StrCat(ttl.count())});
    const absl::StatusOr<std::vector<Reply>> replies = client_->Execute(name_, request);
    if (!replies.ok()) return replies.status();
    for (const Reply& reply : *replies) {
      const absl::Status status = reply.ToStatus();
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ModuleFilter::Impl::Publish(const std::string& key) {
  Request request;
  request.BeginScript(PublishScript(), std::vector<std::string>{key, name_}, 0);
  const absl::StatusOr<Reply> reply = client_->ExecuteOne(name_, request);
  if (!reply.ok()) return reply.status();
  const absl::StatusOr<std::string> word = WordOf(*reply);
  if (!word.ok()) return word.status();
  if (*word == "exists") return ExistsError(name_);
  if (*word == "ok") return absl::OkStatus();
  return *word == "missing"
             ? absl::NotFoundError(absl::StrCat(name_, ": the server has evicted what was loaded"))
             : absl::DataLossError("Redis: an answer that the script does not give");
}

ModuleFilter::ModuleFilter(Client* client, std::string_view name, Kind kind)
    : impl_(std::make_unique<Impl>(client, name, kind)) {}
ModuleFilter::~ModuleFilter() = default;

QueryCounts ModuleFilter::counts() const { return impl_->counter()->Get(); }

absl::Status ModuleFilter::Reserve(const RedisBloomOptions& options) {
  if (!impl_->is_bloom()) return absl::InvalidArgumentError("Redis filter: a cuckoo filter");
  return RunReserve(impl_->client(), impl_->name(), BloomReserveWords(impl_->name(), options));
}

absl::Status ModuleFilter::Reserve(const RedisBloomCuckooOptions& options) {
  if (impl_->is_bloom()) return absl::InvalidArgumentError("Redis filter: a Bloom filter");
  return RunReserve(impl_->client(), impl_->name(), CuckooReserveWords(impl_->name(), options));
}

// CF.INSERT with NOCREATE, since CF.ADD would make a missing filter; for BF.MADD, which has no such
// word, the script looks whether the key is there.
absl::StatusOr<uint64_t> ModuleFilter::Add(Items keys) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<uint64_t> {
    static constexpr std::string_view kCuckooPrefix[] = {"NOCREATE", "ITEMS"};
    const absl::StatusOr<std::vector<Reply>> replies = CallModuleForAll(
        impl_->client(), impl_->name(), impl_->is_bloom() ? "BF.MADD" : "CF.INSERT",
        impl_->is_bloom() ? Items() : Items(kCuckooPrefix), keys);
    if (!replies.ok()) return replies.status();
    return CountAdded(impl_->name(), *replies, keys.size());
  });
}

bool ModuleFilter::MayContain(std::string_view key) {
  return impl_->counter()->AnswerForOne([&] { return MayContain(Items(&key, 1)); });
}

std::vector<bool> ModuleFilter::MayContain(Items keys) {
  std::vector<bool> answers(keys.size(), true);
  if (keys.empty()) return answers;
  const absl::Status status = CatchOutOfMemory([&] { return impl_->MayContain(keys, &answers); });
  if (!status.ok()) {
    impl_->counter()->AddUnknown(status, keys.size());
    return answers;
  }
  uint64_t no = 0;
  for (const bool answer : answers) no += answer ? 0 : 1;
  impl_->counter()->AddNo(no);
  impl_->counter()->AddFound(keys.size() - no);
  return answers;
}

absl::StatusOr<bool> ModuleFilter::Remove(std::string_view key) {
  if (impl_->is_bloom()) {
    return absl::FailedPreconditionError("Redis filter: no key leaves a Bloom filter");
  }
  return CallForOne(impl_->client(), impl_->name(), "CF.DEL", key);
}

absl::StatusOr<std::vector<RedisBloomChunk>> ModuleFilter::Dump() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<RedisBloomChunk>> {
    std::vector<RedisBloomChunk> chunks;
    // 0 begins a dump, and an iterator of 0 ends it.
    std::string iterator = "0";
    for (;;) {
      const std::string_view argument = iterator;
      absl::StatusOr<Reply> reply = CallModule(impl_->client(), impl_->name(),
                                               impl_->Command("SCANDUMP"), Items(&argument, 1));
      if (!reply.ok()) return reply.status();
      if (reply->elements.size() != 2 || reply->elements[0].integer < 0) {
        return absl::DataLossError("Redis: SCANDUMP gives no chunk");
      }
      const auto next = static_cast<uint64_t>(reply->elements[0].integer);
      if (next == 0) return chunks;
      // Growing iterators are all that keeps a server from giving chunks for ever.
      if (!chunks.empty() && next <= chunks.back().iterator) {
        return absl::DataLossError("Redis: SCANDUMP goes back");
      }
      // Each answer names the question for the next chunk.
      iterator = absl::StrCat(next);
      chunks.push_back({next, std::move(reply->elements[1].text)});
    }
  });
}

absl::Status ModuleFilter::Restore(std::span<const RedisBloomChunk> chunks) {
  return CatchOutOfMemory([&]() -> absl::Status {
    if (chunks.empty()) return absl::InvalidArgumentError("Redis filter: a dump without chunks");
    const std::string& name = impl_->name();
    // Only to fail early: Publish looks again, in the same step in which it renames.
    Request exists;
    exists.Command({"EXISTS", name});
    const absl::StatusOr<Reply> there = impl_->client()->ExecuteOne(name, exists);
    if (!there.ok()) return there.status();
    if (there->integer != 0) return ExistsError(name);
    // Half a filter would say "no" to the keys of the other half. Nobody else loads into this one.
    const std::string loaded = KeyBeside(name, absl::StrCat("winnow:load:", UniqueDigits()));
    absl::Status status = impl_->Load(chunks, loaded);
    if (status.ok()) status = impl_->Publish(loaded);
    if (status.ok()) return status;
    Request remove;
    remove.Command({"UNLINK", loaded});
    impl_->client()->ExecuteOne(name, remove).IgnoreError();  // it expires
    return status;
  });
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ModuleFilter::GetInfo() {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<std::vector<std::pair<std::string, std::string>>> {
        const absl::StatusOr<Reply> reply =
            CallModule(impl_->client(), impl_->name(), impl_->Command("INFO"), {});
        if (!reply.ok()) return reply.status();
        std::vector<std::pair<std::string, std::string>> info;
        // Names and values by turns. Some values are integers, some strings, by version.
        for (size_t i = 0; i + 1 < reply->elements.size(); i += 2) {
          const Reply& value = reply->elements[i + 1];
          info.emplace_back(reply->elements[i].text, value.type == Reply::Type::kInteger
                                                         ? absl::StrCat(value.integer)
                                                         : value.text);
        }
        return info;
      });
}

// Tair's order of arguments in, the server's out.
absl::Status TairFilters::bfreserve(std::string_view key, uint64_t size, double error_rate) {
  return RunReserve(client_, key,
                    {"BF.RESERVE", std::string(key), Number(error_rate), absl::StrCat(size)});
}
absl::Status TairFilters::cfreserve(std::string_view key, uint64_t size) {
  return RunReserve(client_, key, {"CF.RESERVE", std::string(key), absl::StrCat(size)});
}
absl::StatusOr<bool> TairFilters::bfadd(std::string_view key, std::string_view item) {
  return CallForOne(client_, key, "BF.ADD", item);
}
absl::StatusOr<bool> TairFilters::bfexists(std::string_view key, std::string_view item) {
  return CallForOne(client_, key, "BF.EXISTS", item);
}
absl::StatusOr<bool> TairFilters::cfadd(std::string_view key, std::string_view item) {
  return CallForOne(client_, key, "CF.ADD", item);
}
absl::StatusOr<bool> TairFilters::cfexists(std::string_view key, std::string_view item) {
  return CallForOne(client_, key, "CF.EXISTS", item);
}
absl::StatusOr<bool> TairFilters::cfdel(std::string_view key, std::string_view item) {
  return CallForOne(client_, key, "CF.DEL", item);
}

}  // namespace winnow::filter::redis
