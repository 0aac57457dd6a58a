// The iterator that memtables, SSTables and their merges share: over internal keys, both ways.
#ifndef WINNOW_ENGINE_BASE_INTERNAL_ITERATOR_H_
#define WINNOW_ENGINE_BASE_INTERNAL_ITERATOR_H_

#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// Used by one thread at a time. An iterator that meets an error becomes invalid and keeps the error
// in status(): "invalid" therefore means "the end" only where status() is OK.
class InternalIterator {
 public:
  virtual ~InternalIterator() = default;

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // To the first entry >= `internal_key`.
  virtual void Seek(std::string_view internal_key) = 0;
  // To the last entry <= `internal_key`.
  virtual void SeekForPrev(std::string_view internal_key) = 0;
  // Next and Prev require Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // Both require Valid(); the bytes live until the iterator is moved or destroyed.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  virtual absl::Status status() const = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_INTERNAL_ITERATOR_H_
