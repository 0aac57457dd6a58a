// Turns internal entries into what a user sees: the newest visible version of each key, both ways.
#ifndef WINNOW_ENGINE_DB_DB_ITERATOR_H_
#define WINNOW_ENGINE_DB_DB_ITERATOR_H_

#include <memory>
#include <optional>
#include <string>

#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/base/key_times.h"
#include "engine/column_family/read_view.h"
#include "engine/db/expiring_iterator.h"
#include "engine/events/event_queue.h"
#include "engine/statistics/recorder.h"
#include "engine/version/iterator_tombstones.h"
#include "winnow/db.h"
#include "winnow/iterator.h"

namespace winnow {

struct DbIteratorOptions;

// What an iterator walks: entries of the view that the snapshot includes.
struct DbIteratorInput {
  // Keeps memtables and files alive.
  std::shared_ptr<const ReadView> view;
  // If there are values with write times.
  std::unique_ptr<IteratorMoment> moment;
  // If there are range deletions; `internal` adds to it.
  std::unique_ptr<StepsUnderTombstones> steps_under_tombstones;
  // If there are range filters, and bounds to ask them for.
  std::unique_ptr<RangeQuestions> questions;
  std::unique_ptr<InternalIterator> internal;
  SequenceNumber snapshot = 0;
};

// What an iterator asks of the database that made it. Thread-safe.
class IteratorOwner {
 public:
  virtual ~IteratorOwner() = default;
  // What a new iterator over the family with these options would walk now.
  virtual absl::Status RenewInput(const DbIteratorOptions& options, DbIteratorInput* input) = 0;
  // An iterator passed so many deleted or hidden entries in a row, the last of them of this key.
  virtual void NoteGarbage(ColumnFamily* family, const ReadView& view, std::string_view user_key,
                           uint64_t num_entries) = 0;
};

struct DbIteratorOptions {
  IteratorOwner* owner = nullptr;  // must outlive the iterator
  ColumnFamily* family = nullptr;
  uint32_t family_id = 0;
  // The user's own, where there is one: the iterator stays with it.
  bool has_user_snapshot = false;
  bool fill_cache = true;
  bool verify_checksums = true;
  std::optional<std::string> lower_bound;  // inclusive
  std::optional<std::string> upper_bound;  // exclusive
  std::optional<KeyTimeBounds> times;
  // Where seeks, steps and `reads` are counted; must outlive the iterator.
  Recorder* recorder = nullptr;
  // Told of damage that was met, when the iterator is destroyed; must outlive it.
  EventQueue* events = nullptr;
  // What `internal` adds to. An iterator may move between threads, so it counts for itself and
  // hands the sums over at each seek and at its end.
  std::unique_ptr<ReadCounters> reads;
};

std::unique_ptr<Iterator> NewDbIterator(DbIteratorInput input, DbIteratorOptions options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DB_ITERATOR_H_
