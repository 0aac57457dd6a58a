// The order of keys.
#ifndef WINNOW_COMPAT_LEVELDB_COMPARATOR_H_
#define WINNOW_COMPAT_LEVELDB_COMPARATOR_H_

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

// Implementations must be thread-safe and outlive the databases that use them.
class Comparator {
 public:
  virtual ~Comparator();

  // Below, at or above 0 as `a` sorts before, equal to or behind `b`.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  // Stored in the database, which does not open under another name.
  virtual const char* Name() const = 0;
  // May shorten *start to a string in [*start, limit), and *key to a string >= *key; doing nothing
  // is right.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

// By unsigned bytes: the default. Never to be deleted.
const Comparator* BytewiseComparator();

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_COMPARATOR_H_
