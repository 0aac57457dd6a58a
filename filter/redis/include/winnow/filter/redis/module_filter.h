// The filters of RedisBloom, Valkey and Tair: kept by a server that has BF.* and CF.* commands, and
// asked here with better manners.
//
//   ModuleFilter seen(client, "seen", ModuleFilter::Kind::kBloom);
//   seen.Reserve({.error_rate = 0.001, .capacity = 1'000'000});
//   seen.Add({"Tom"});
//   seen.MayContain("Tom");
//
// The servers answer "no" for a key that is missing or of another type; this answers "maybe" and
// counts it. A filter whose server has no such commands is refused, and counted as such.

#ifndef WINNOW_FILTER_REDIS_MODULE_FILTER_H_
#define WINNOW_FILTER_REDIS_MODULE_FILTER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/redis/client.h"
#include "winnow/filter/redis/query_counts.h"
#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter::redis {

// Thread-safe. The client must live longer.
class ModuleFilter {
 public:
  enum class Kind : uint8_t { kBloom, kCuckoo };

  ModuleFilter(Client* client, std::string_view name, Kind kind);
  ~ModuleFilter();
  ModuleFilter(const ModuleFilter&) = delete;
  ModuleFilter& operator=(const ModuleFilter&) = delete;

  // BF.RESERVE and CF.RESERVE. AlreadyExists; InvalidArgument for what the server refuses, or for
  // the other kind; Unimplemented: it has no such commands.
  absl::Status Reserve(const RedisBloomOptions& options);
  absl::Status Reserve(const RedisBloomCuckooOptions& options);

  // Adds keys to a filter that is there, in one round trip for each 446,000; gives how many the
  // server took for new (a cuckoo filter: how many it took). NotFound: it is not there; nothing is
  // made in its place. ResourceExhausted: full. FailedPrecondition: the key is something else, of
  // the other kind too.
  absl::StatusOr<uint64_t> Add(std::span<const std::string_view> keys);
  // False only if the key was never added. Never fails.
  bool MayContain(std::string_view key);
  std::vector<bool> MayContain(std::span<const std::string_view> keys);
  // CF.DEL: takes one copy of a key out that was added; false if there is none. Errors as of Add;
  // FailedPrecondition for a Bloom filter. Not repeated after an error: whether it was done is not
  // known then.
  absl::StatusOr<bool> Remove(std::string_view key);

  // SCANDUMP: the chunks for RedisBloomFilter::Load or RedisBloomCuckooFilter::Load, and for
  // Restore. A filter that changes meanwhile gives a dump that those refuse. NotFound.
  absl::StatusOr<std::vector<RedisBloomChunk>> Dump();
  // LOADCHUNK: makes the filter out of chunks, under another name in the same slot, and gives it
  // its own once it is whole: until then it is missing to everybody. AlreadyExists: there is a key
  // of that name. InvalidArgument: no chunks, or what the server refuses. NotFound: the server has
  // evicted what was loaded. What a call that fails has loaded is removed, or expires.
  absl::Status Restore(std::span<const RedisBloomChunk> chunks);

  // BF.INFO or CF.INFO: names and values as the server gives them, in their order.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> GetInfo();

  QueryCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The calls of Tair's client, with its order of arguments: the size comes before the rate, where
// BF.RESERVE has it behind. One object for any number of keys. Calls of one kind on a key of the
// other, which the server answers with "no", are FailedPrecondition. Thread-safe.
class TairFilters {
 public:
  explicit TairFilters(Client* client) : client_(client) {}

  absl::Status bfreserve(std::string_view key, uint64_t size, double error_rate);
  absl::StatusOr<bool> bfadd(std::string_view key, std::string_view item);
  // Unlike MayContain these fail: what cannot be answered is an error.
  absl::StatusOr<bool> bfexists(std::string_view key, std::string_view item);
  absl::Status cfreserve(std::string_view key, uint64_t size);
  absl::StatusOr<bool> cfadd(std::string_view key, std::string_view item);
  absl::StatusOr<bool> cfexists(std::string_view key, std::string_view item);
  absl::StatusOr<bool> cfdel(std::string_view key, std::string_view item);

 private:
  Client* const client_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_MODULE_FILTER_H_
