// What the owner of a column family (DBImpl::ReserveForOwner) calls garbage: flushes and
// compactions show its collector what they are about to write, and it says what goes. The store
// knows nothing of why.
//
// Keys that bear upon each other, as a marker and what it hides, are different keys, which levels
// do not order: what is newer may lie deeper. A collector therefore learns how the numbers of what
// it is shown relate to those of what it is not shown, and must judge by that.
#ifndef WINNOW_ENGINE_BASE_ENTRY_COLLECTOR_H_
#define WINNOW_ENGINE_BASE_ENTRY_COLLECTOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/internal_key.h"

namespace winnow {

// Entries of a family that may take others away: deletions, and what key_times calls markers. Those
// of some files, by their numbers. An entry that is not shown and
//  - lies in a level above those that are compacted, or beside them, has a number over `horizon`;
//  - lies deeper has one of at most `floor`: a deletion there is older than what is shown of its
//    key, and only markers count.
struct Removers {
  bool any = false;
  SequenceNumber floor = 0;
  SequenceNumber horizon = kMaxSequenceNumber;

  void Add(const Removers& more) {
    any = any || more.any;
    floor = std::max(floor, more.floor);
    horizon = std::min(horizon, more.horizon);
  }
};

// The files of a family that a compaction does not read, of whatever level; for a flush all of
// them, and all lie deeper than what it writes. Thread-safe.
class OtherFiles {
 public:
  virtual ~OtherFiles() = default;
  // In those that overlap the keys from `begin` to before `end`.
  virtual Removers RemoversIn(std::string_view begin, std::string_view end) const = 0;
  // The smallest number in those; kMaxSequenceNumber: there are none.
  virtual SequenceNumber OldestIn(std::string_view begin, std::string_view end) const = 0;
  // False: RemoversIn finds none, whatever the keys.
  virtual bool may_have_removers() const = 0;
  // There is no remover in the whole family but in memtables; the files that are read count here.
  virtual bool has_no_removers() const = 0;
};

// When the files of a compaction were picked, which then were all that was not in a memtable; or
// the memtables of a flush.
struct CollectionMoment {
  uint64_t time = 0;            // EntryCollectorFactory::Now, read before the number
  SequenceNumber sequence = 0;  // the newest that readers saw
  // No memtable has a smaller one, but for those that are flushed.
  SequenceNumber first_unflushed = kMaxSequenceNumber;
};

struct Collection {
  CollectionMoment moment;
  // All numbers up to this one are in files, and are seen by every snapshot and by every reader to
  // come. What has it is what there was at some moment, and is a beginning of history.
  SequenceNumber settled = kMaxSequenceNumber;
  const OtherFiles* others = nullptr;
  // The collector is shown no keys from there on; null: all. Outlives the collector.
  const std::string* end = nullptr;

  // `snapshots`, ascending, were listed after the moment.
  static Collection At(const CollectionMoment& moment, std::span<const SequenceNumber> snapshots,
                       const OtherFiles* others) {
    Collection collection;
    collection.moment = moment;
    // What was ingested may be newer than something in a memtable; and what came after the moment
    // is in no file that is known here.
    collection.settled = std::min(moment.sequence, moment.first_unflushed - 1);
    if (!snapshots.empty()) collection.settled = std::min(collection.settled, snapshots.front());
    collection.others = others;
    return collection;
  }
};

// Of one walk of one flush or compaction: used by one thread.
class EntryCollector {
 public:
  enum class Decision : uint8_t {
    kKeep,
    // Nor may its number become 0, as those of the last level do.
    kKeepNumber,
    // An older entry of the key may come to light: it is garbage as well.
    kDrop,
    // It may not: a deletion takes the place of the value where something older may lie below.
    kDelete,
  };
  virtual ~EntryCollector() = default;
  // Of the values that every snapshot sees, the newest of each key, in the order of keys; the bytes
  // live until the call returns. What a range deletion hides, too, it is not shown.
  virtual Decision Decide(std::string_view user_key, SequenceNumber sequence,
                          std::string_view value) = 0;
};

// Thread-safe; outlives the database.
class EntryCollectorFactory {
 public:
  virtual ~EntryCollectorFactory() = default;
  // A time by which entries may be called dead: no reader that there is, or will be, has an earlier
  // one.
  virtual uint64_t Now() const = 0;
  // Any entry may take others away, not only deletions and markers. Asked once the files have been
  // picked.
  virtual bool EveryEntryRemoves() const = 0;
  // Null: it keeps everything. May throw std::bad_alloc.
  virtual std::unique_ptr<EntryCollector> NewCollector(const Collection& collection) = 0;
  // Whether a file may end between two keys that follow one another: keys of one group are judged
  // by what came before them.
  virtual bool MayPart(std::string_view before, std::string_view user_key) const = 0;
  // A key at which one walk may end and another begin, not behind this one.
  virtual std::string_view WalkBoundary(std::string_view user_key) const = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_ENTRY_COLLECTOR_H_
