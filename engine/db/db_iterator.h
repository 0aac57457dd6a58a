// Turns internal entries into what a user sees: the newest visible version of each key, both ways.
#ifndef WINNOW_ENGINE_DB_DB_ITERATOR_H_
#define WINNOW_ENGINE_DB_DB_ITERATOR_H_

#include <memory>
#include <optional>
#include <string>

#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/column_family/read_view.h"
#include "engine/events/event_queue.h"
#include "engine/statistics/recorder.h"
#include "winnow/iterator.h"

namespace winnow {

struct DbIteratorOptions {
  SequenceNumber snapshot = 0;
  std::optional<std::string> lower_bound;  // inclusive
  std::optional<std::string> upper_bound;  // exclusive
  // Where seeks, steps and `reads` are counted; must outlive the iterator.
  Recorder* recorder = nullptr;
  // Told of damage that was met, when the iterator is destroyed; must outlive it.
  EventQueue* events = nullptr;
  // What `internal` adds to. An iterator may move between threads, so it counts for itself and
  // hands the sums over at each seek and at its end.
  std::unique_ptr<ReadCounters> reads;
};

// `view` keeps memtables and files alive for as long as the iterator.
std::unique_ptr<Iterator> NewDbIterator(std::shared_ptr<const ReadView> view,
                                        std::unique_ptr<InternalIterator> internal,
                                        DbIteratorOptions options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DB_ITERATOR_H_
