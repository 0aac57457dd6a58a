// Walks the entries of a database in key order.
#ifndef WINNOW_COMPAT_LEVELDB_ITERATOR_H_
#define WINNOW_COMPAT_LEVELDB_ITERATOR_H_

#include "leveldb/export.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

// For one thread at a time. Key and value live until the iterator is moved or deleted.
class Iterator {
 public:
  Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  // Runs what was registered for its end.
  virtual ~Iterator();

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // To the first key >= target.
  virtual void Seek(const Slice& target) = 0;
  // These four require Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  // The error that ended the walk, if there was one.
  virtual Status status() const = 0;

  // Calls function(arg1, arg2) when the iterator is deleted.
  using CleanupFunction = void (*)(void* arg1, void* arg2);
  void RegisterCleanup(CleanupFunction function, void* arg1, void* arg2);

 private:
  struct Cleanup;
  Cleanup* cleanups_ = nullptr;
};

// Without entries; with this status.
Iterator* NewEmptyIterator();
Iterator* NewErrorIterator(const Status& status);

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_ITERATOR_H_
