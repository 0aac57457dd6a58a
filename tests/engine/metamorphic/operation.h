// One step of a random life of a database, and the logs that are made of such steps.
#ifndef WINNOW_TESTS_ENGINE_METAMORPHIC_OPERATION_H_
#define WINNOW_TESTS_ENGINE_METAMORPHIC_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow::metamorphic {

// Column families, snapshots and held iterators are named by slots, so that a log stays meaningful
// when steps are taken out of it. Family slot 0 is "default" and always there.
inline constexpr int kFamilySlots = 4;
inline constexpr int kSnapshotSlots = 4;
inline constexpr int kIteratorSlots = 3;
inline constexpr int kNoSlot = -1;
// Of families by slot, in seconds; 0: data does not expire. The same under all option sets, which
// differ in when they drop what nobody may see any more.
inline constexpr uint64_t kTtlSeconds[kFamilySlots] = {0, 60, 0, 300};

struct Update {
  int family = 0;
  std::string key;
  std::optional<std::string> value;     // absent: a deletion
  bool merges = false;                  // the value is a merge operand
  std::optional<std::string> end = {};  // the keys from `key` to before this one are deleted
};

struct Move {
  enum class Kind { kSeekToFirst, kSeekToLast, kSeek, kSeekForPrev, kNext, kPrev, kRefresh };
  Kind kind = Kind::kSeekToFirst;
  std::string key;  // of the two that seek a key
};

struct Operation {
  enum class Kind {
    kPut,
    kDelete,
    kMerge,
    kDeleteRange,
    kBatch,
    kTransact,
    kGet,
    kMultiGet,
    kMayExist,
    kExists,
    kIterate,
    kTakeSnapshot,
    kReleaseSnapshot,
    kFlush,
    kCompact,
    kReopen,
    kSetFilter,
    kRefilter,  // what is there, too
    kCreateFamily,
    kDropFamily,
    kCheckpoint,
    kBackup,  // and the restoration of it
    kIngest,
    kVerify,
    kAdvanceClock,
    kCount,
  };

  Kind kind = Kind::kGet;
  // Place in the log as generated; what an option set decides for one operation depends on it.
  uint64_t number = 0;
  int family = 0;
  uint64_t seconds = 0;    // kAdvanceClock
  int snapshot = kNoSlot;  // kNoSlot: the newest state
  int iterator = kNoSlot;  // kIterate: kNoSlot: closed at once
  // kPut, kDelete, kMerge, kDeleteRange: one; kBatch, kTransact, kIngest: any number.
  std::vector<Update> updates;
  // kTransact: how many of the updates are made before the savepoint that is rolled back to.
  size_t kept_updates = 0;
  bool rolls_back = false;        // kTransact: nothing is committed
  std::vector<std::string> keys;  // kGet, kMultiGet, kMayExist, kExists, kTransact
  // kIterate, kTransact: bounds, also those of a prefix. kCompact: the ends of the range.
  std::optional<std::string> lower;
  std::optional<std::string> upper;
  std::vector<Move> moves;

  // One line: `put family1 "key" = 130 bytes`.
  std::string ToString() const;
};

std::string_view KindName(Operation::Kind kind);

// A log of `count` operations; the same seed gives the same log.
std::vector<Operation> GenerateLog(uint64_t seed, size_t count);

// "default", "family1", ...
std::string FamilyName(int slot);

// Quoted, with escapes, cut after some forty characters.
std::string Quoted(std::string_view bytes);

}  // namespace winnow::metamorphic

#endif  // WINNOW_TESTS_ENGINE_METAMORPHIC_OPERATION_H_
