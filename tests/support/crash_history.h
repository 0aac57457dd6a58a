// What a database was told, and what may be found of it later: the truth that crash tests compare
// with, kept outside the store.
#ifndef WINNOW_TESTS_SUPPORT_CRASH_HISTORY_H_
#define WINNOW_TESTS_SUPPORT_CRASH_HISTORY_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "winnow/db.h"

namespace winnow {

// Column family id -> key -> value. An id is never used twice, so a family that was dropped and one
// created later under its name are different.
using Contents = std::map<uint32_t, std::map<std::string, std::string>>;

struct Update {
  uint32_t family_id;
  std::string key;
  std::optional<std::string> value;  // none: a deletion
  bool merges = false;               // the value is an operand, which is appended behind a '+'
  // Of a range deletion: the key before which it ends.
  std::optional<std::string> end = {};
};

// A call, placed among the recorded operations of a file system.
struct CallTime {
  static constexpr size_t kNever = std::numeric_limits<size_t>::max();
  size_t begin = kNever;         // operations recorded when the call began
  size_t acknowledged = kNever;  // when it returned OK; kNever if it failed

  bool MayHaveHappened(size_t num_operations) const { return begin < num_operations; }
  bool MustHaveHappened(size_t num_operations) const { return acknowledged <= num_operations; }
};

struct HistoryOfFamily {
  uint32_t id;
  std::string name;
  CallTime created;
  CallTime dropped;
};

// How a promise was broken.
enum class Breach {
  kNone,
  kSyncedWriteLost,
  kHole,  // a later write is there, an earlier one is not
  kTornBatch,
  kResurrectedDelete,
  kOther,  // does not open, an error, a column family lost, a checkpoint that is not whole
};
inline constexpr size_t kNumBreaches = 6;

struct CrashVerdict {
  Breach breach = Breach::kNone;
  std::string why;  // empty if all is well

  bool ok() const { return breach == Breach::kNone; }
};

class History {
 public:
  struct Write {
    std::vector<Update> updates;
    bool synced;
    CallTime time;
    size_t opening = 0;  // of the database: the number of writes before that
    // The store said that it takes no writes: it is not a write whose outcome is unknown.
    bool was_refused = false;
  };
  // Numbers of writes that failed and may be there all the same.
  using FailedWrites = std::vector<size_t>;

  void AddWrite(Write write) { writes_.push_back(std::move(write)); }
  // All writes so far survive a power failure after this operation.
  void AddBarrier(size_t num_operations) { barriers_.push_back({num_operations, writes_.size()}); }
  std::vector<HistoryOfFamily>& families() { return families_; }
  const std::vector<HistoryOfFamily>& families() const { return families_; }
  const std::vector<Write>& writes() const { return writes_; }

  // What the first `num_writes` writes leave. Of those that failed, only `with_failed` are
  // included.
  Contents After(size_t num_writes, const FailedWrites& with_failed = {}) const;
  // All that may be there of the first `num_writes` writes that failed: the store takes no further
  // write until it is reopened, so it is at most one from each opening. None comes first.
  std::vector<FailedWrites> PossibleFailures(size_t num_writes) const;

  // Empty if `found` is what a crash after `num_operations` may leave: a prefix of the writes, with
  // each synced one, and with `all_acknowledged` each acknowledged one; of those that failed at
  // most one of each opening, whole. Otherwise, what is wrong.
  std::string WhyWrongAfterCrash(const Contents& found, size_t num_operations,
                                 bool all_acknowledged) const;
  // Which promise WhyWrongAfterCrash saw broken, where no write had failed.
  Breach BreachAfterCrash(const Contents& found, size_t num_operations,
                          bool all_acknowledged) const;
  // Empty if `found` holds all acknowledged writes and of those that failed at most one of each
  // opening, whole.
  std::string WhyWrongAfterErrors(const Contents& found) const;

 private:
  struct Barrier {
    size_t num_operations;
    size_t num_writes;
  };
  // The fewest and the most writes that may be there.
  std::pair<size_t, size_t> Bounds(size_t num_operations, bool all_acknowledged) const;
  std::string WhyFamiliesAreWrong(const Contents& found, size_t num_operations) const;

  std::vector<Write> writes_;
  std::vector<Barrier> barriers_;
  std::vector<HistoryOfFamily> families_;
};

// Reads every key of every column family, by iterator in both directions and by Get, MayExist and
// Exists for `keys` besides. The first error or disagreement is told in `*problem`.
Contents ReadEverything(DB& db, const std::vector<std::string>& keys, std::string* problem);

// Whether a difference from what must be there is a loss or something that came back.
Breach BreachOfDifference(const Contents& found, const Contents& expected);

// The first difference between two contents, for people; empty if they are equal. Families that
// `found` does not have are not compared.
std::string FirstDifference(const Contents& found, const Contents& expected);

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_CRASH_HISTORY_H_
