// A Bloom filter that is a string in Redis, shared by many processes, in the layout of go-zero, of
// the program with Jedis, or of Redisson: their programs find what is added here, and the reverse.
//
//   auto client = Client::Open("redis://127.0.0.1:6379");
//   auto users = BitmapFilter::Open(client->get(), "users", {.rule = RedisBitmapRule::kRedisson});
//   if (!(*users)->MayContain("Tom")) return NotFound();       // certainly never added
//
// Where it differs from what it is compatible with: a filter that is missing, loading, of another
// configuration or out of reach answers "maybe", and counts that; they say "no", or fail.
//
// With writers in many processes, add a key before its row becomes visible, and say so:
//
//   auto intent = (*users)->BeginWrite({"Tom"});                // adds, and leaves a note
//   database.Commit("Tom");
//   (*users)->EndWrite(*std::move(intent));                     // adds again, takes the note back
//
// Then a rebuild (StartRebuild) at any time, by any process, loses no key whose row was committed,
// even of writers that died between the two calls.

#ifndef WINNOW_FILTER_REDIS_BITMAP_FILTER_H_
#define WINNOW_FILTER_REDIS_BITMAP_FILTER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/redis/client.h"
#include "winnow/filter/redis/query_counts.h"
#include "winnow/filter/redis_bitmap.h"

namespace winnow::filter::redis {

struct BitmapFilterOptions {
  RedisBitmapRule rule = RedisBitmapRule::kRedisson;
  // For a key that go-zero or Jedis made, which says nothing of its shape: what to take it for as
  // long as there is no configuration beside it. Its rule is that above. StartRebuild and Remove
  // take a string for such a filter as well, unless it is longer than this shape: without this they
  // touch no string that has no configuration.
  std::optional<RedisBitmapShape> shape_without_configuration = std::nullopt;
  // Only with a shape as above: adding to a missing key makes it, as go-zero does. Beware: once
  // such a key has expired, what makes it again is a filter that lacks all older keys.
  bool add_makes_the_key = false;
};

struct CreateBitmapOptions {
  // Redisson's configuration has these two as well; 0 for filters whose shape was chosen otherwise.
  uint64_t expected_insertions = 0;
  double fpr = 0;
  // Time to live of all keys of the filter, which expire at one and the same moment: so long and
  // a random share of the jitter from now; notes of writers stay for a day more. 0: none.
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds ttl_jitter{0};
  // Nothing larger is made: a server answers nobody while it makes so large a string.
  uint64_t max_bytes = uint64_t{64} << 20;
  // False: the keys that exist already are still to be added, by a rebuild. Until then the filter
  // answers "maybe" to everything, and Redisson's own programs find no configuration.
  bool is_complete = true;
};

struct RebuildOptions {
  // The rebuild is lost if it adds or renews nothing for so long: another may start then.
  std::chrono::milliseconds lease{30'000};
  // As of CreateBitmapOptions. No ttl: the filter goes on to expire when it did.
  std::optional<std::chrono::milliseconds> ttl = std::nullopt;
  std::chrono::milliseconds ttl_jitter{0};
  uint64_t max_bytes = uint64_t{64} << 20;
  uint64_t expected_insertions = 0;
  double fpr = 0;
  // Notes of writers that are older than this, by the server's clock, are taken for those of dead
  // ones and removed after this rebuild has added their keys. A writer must end within it.
  std::chrono::milliseconds max_write_time = std::chrono::hours(24);
};

struct BitmapFilterInfo {
  RedisBitmapShape shape;
  bool has_configuration = false;  // false: the shape is that of the options
  bool is_complete = true;         // false: waits for its first rebuild
  bool is_being_rebuilt = false;
  std::string generation;  // of the rebuild that made it; empty where only others wrote
  uint64_t num_bytes = 0;  // of the string in Redis, which may lack zeros at its end
  uint64_t num_ones = 0;
  uint64_t open_writes = 0;  // notes of writers
  uint64_t expected_insertions = 0;
  double fpr = 0;
  std::chrono::milliseconds ttl_left{0};  // 0: does not expire
  uint64_t EstimatedKeys() const;
  double ExpectedFpr() const;  // as RedisBitmapFpr
};

// A note that some keys are about to become visible. Moved into EndWrite; dropped, it stays in
// Redis, as that of a writer that died: some false positives more, at most.
class WriteIntent {
 public:
  WriteIntent(WriteIntent&&) = default;
  WriteIntent& operator=(WriteIntent&&) = default;

  const std::vector<std::string>& keys() const { return keys_; }

 private:
  friend class BitmapFilter;
  WriteIntent(std::vector<std::string> keys, std::vector<std::string> ids)
      : keys_(std::move(keys)), ids_(std::move(ids)) {}

  std::vector<std::string> keys_;
  std::vector<std::string> ids_;  // one for each script that BeginWrite ran
};

class BitmapRebuild;

// Thread-safe. The client must live longer. Every call costs one round trip (one for each 64
// scripts of at most 7000 offsets: 63,000 keys of 7 bits), and another one when the filter was
// rebuilt or its rebuild began since the last call.
class BitmapFilter {
 public:
  // Does not ask the server: a filter that is not there yet may be opened. InvalidArgument: a name
  // that is empty, or whose braces would put the filter's keys into different slots; a shape that
  // is not possible.
  static absl::StatusOr<std::unique_ptr<BitmapFilter>> Open(
      Client* client, std::string_view name, const BitmapFilterOptions& options = {});

  // Makes an empty filter; Redisson's tryInit. AlreadyExists: there is one, or another key of that
  // name. ResourceExhausted: larger than max_bytes. And the errors of Client::Execute.
  absl::Status Create(const RedisBitmapShape& shape, const CreateBitmapOptions& options = {});
  // Removes the filter with all that lies beside it, but for notes of writers: those go after a
  // day, since the next filter of that name may need them. Ok if there is none. FailedPrecondition,
  // naming it: what lies there is no filter of this rule, and stays.
  absl::Status Remove();

  ~BitmapFilter();
  BitmapFilter(const BitmapFilter&) = delete;
  BitmapFilter& operator=(const BitmapFilter&) = delete;

  // False only if the key was never added. Never fails: see counts() for why it said maybe.
  bool MayContain(std::string_view key);
  // The same for many keys in one round trip; answers in their order. std::bad_alloc if there is no
  // memory for these.
  std::vector<bool> MayContain(std::span<const std::string_view> keys);

  // Adds keys. Gives how many of them were new. NotFound: there is no such filter, or it has
  // expired; nothing is made in its place. FailedPrecondition: the key is another type, or of
  // another rule. Unavailable, DeadlineExceeded: perhaps some were added.
  // Beside rebuilds this alone is safe for rows that were visible before the call, or if it is
  // called again once they are; otherwise BeginWrite.
  absl::StatusOr<uint64_t> Add(std::span<const std::string_view> keys);

  // Adds keys whose rows are about to be committed, and notes that; before the commit. Without Ok
  // do not commit, or commit and call Add until it succeeds. ResourceExhausted: 1,000,000 notes are
  // open. Otherwise as Add.
  absl::StatusOr<WriteIntent> BeginWrite(std::span<const std::string_view> keys);
  // After the commit, or after it failed: the keys are in the filter in any case. If this fails the
  // note stays, which is safe.
  absl::Status EndWrite(WriteIntent intent);

  // Begins to fill a new generation of this shape beside the one that serves, which goes on
  // answering and being added to; from now on writers add to both. Unavailable: another rebuild is
  // under way (its lease has not ended). NotFound: no such filter, and nothing else of that name.
  // FailedPrecondition, naming it: what lies there is no filter of this rule. A rebuild that died
  // is cleared up.
  absl::StatusOr<std::unique_ptr<BitmapRebuild>> StartRebuild(const RedisBitmapShape& shape,
                                                              const RebuildOptions& options = {});

  // What there is. NotFound, or the errors of Client::Execute. Linear in the size, on the server.
  absl::StatusOr<BitmapFilterInfo> GetInfo();
  // The string, read in pieces. Not one moment's: keys that are added meanwhile may be in it.
  // Aborted: a rebuild, or a removal, replaced it meanwhile. DataLoss: no string of its shape.
  absl::StatusOr<RedisBitmap> Download();

  QueryCounts counts() const;
  const std::string& name() const;
  RedisBitmapRule rule() const;

 private:
  friend class BitmapRebuild;
  class Impl;
  explicit BitmapFilter(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// One generation that is being filled. Used by one thread at a time; the BitmapFilter must live
// longer. Dropped without Finish, it goes when its lease ends; the filter stays as it was.
//
//   auto rebuild = (*users)->StartRebuild(*RedissonShape(2'000'000, 0.01));
//   for (each batch of rows, as of now or later) (*rebuild)->Add(batch);
//   (*rebuild)->Finish();
//
// Every call but the last fails with Aborted once the rebuild was lost: its lease ended, or
// somebody removed the filter.
class BitmapRebuild {
 public:
  ~BitmapRebuild();
  BitmapRebuild(const BitmapRebuild&) = delete;
  BitmapRebuild& operator=(const BitmapRebuild&) = delete;

  // Adds keys of rows that a scan begun after StartRebuild has found. Renews the lease.
  absl::Status Add(std::span<const std::string_view> keys);
  // Adds all keys of a filter of the same shape, such as Download gave. InvalidArgument: another.
  absl::Status AddAll(const RedisBitmap& bitmap);
  // Renews the lease where the scan finds nothing for long.
  absl::Status Renew();
  // Adds what writers under way have noted, then puts this generation, its configuration and its
  // time to live in place of the old one, in one step. Aborted: lost; the old one still serves, or
  // it has expired and RebuildOptions give no time to live. FailedPrecondition, naming it:
  // something else lies under the name, and stays. If the connection is lost in this call, it may
  // have happened or not: both are safe.
  absl::Status Finish();
  // Gives up at once. Ok if it was lost already.
  absl::Status Abandon();

  // A number that grows with each rebuild of this filter.
  uint64_t fencing_token() const;

 private:
  friend class BitmapFilter;
  class Impl;
  explicit BitmapRebuild(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_BITMAP_FILTER_H_
