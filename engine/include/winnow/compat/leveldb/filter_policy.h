// Filters of tables, as LevelDB programs ask for them.
#ifndef WINNOW_COMPAT_LEVELDB_FILTER_POLICY_H_
#define WINNOW_COMPAT_LEVELDB_FILTER_POLICY_H_

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

// A program's own filter. Implementations must be thread-safe and outlive the databases that use
// them. Here a filter is made for a whole table at once, where LevelDB makes one for every two
// kilobytes of it.
class FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // Stored with each filter; filters of another name are not asked.
  virtual const char* Name() const = 0;
  // Appends to *dst a filter for keys[0, n), which come in the comparator's order.
  virtual void CreateFilter(const Slice* keys, int n, std::string* dst) const = 0;
  // Must be true for each key that `filter` was made from.
  virtual bool KeyMayMatch(const Slice& key, const Slice& filter) const = 0;
};

// In Options: Winnow's filter blocked_bloom:bits_per_key (1 to 64, others are moved to the nearest
// end). Called by a policy of the program's own: a standard Bloom filter. The caller deletes it
// once no open database uses it. Not for comparators under which keys of different bytes are equal.
const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_FILTER_POLICY_H_
