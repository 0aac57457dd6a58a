// Walks the keys of one column family in order, as of one moment.
#ifndef WINNOW_ITERATOR_H_
#define WINNOW_ITERATOR_H_

#include <string_view>

#include "absl/status/status.h"

namespace winnow {

//   std::unique_ptr<winnow::Iterator> it = db->NewIterator(winnow::ReadOptions());
//   for (it->Seek("user:"); it->Valid(); it->Next()) Use(it->key(), it->value());
//   if (!it->status().ok()) Report(it->status());
//
// Shows the database as it was when the iterator was made. Used by one thread at a time; must be
// destroyed before its database is closed. After an error the iterator is invalid and status() says
// why, so that a loop's end must be checked.
class Iterator {
 public:
  virtual ~Iterator() = default;

  // True while the iterator stands on an entry.
  virtual bool Valid() const = 0;

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // To the first key >= `key`.
  virtual void Seek(std::string_view key) = 0;
  // To the last key <= `key`.
  virtual void SeekForPrev(std::string_view key) = 0;
  // Both require Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // Both require Valid(); the bytes live until the iterator is moved or destroyed.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  // Shows the database as it is now, from the next seek on: until then the iterator is invalid. Its
  // bounds stay. Cheaper for the database than to keep an old iterator, which holds files and
  // memtables; costs about as much as a new one. FailedPrecondition, and nothing has changed: it
  // was made for a snapshot. Unimplemented: it shows the writes of a transaction or of an
  // IndexedWriteBatch.
  virtual absl::Status Refresh() {
    return absl::UnimplementedError("this iterator cannot be refreshed");
  }

  // OK, or the first error met.
  virtual absl::Status status() const = 0;
};

}  // namespace winnow

#endif  // WINNOW_ITERATOR_H_
