// The order of keys in a database.
#ifndef WINNOW_COMPARATOR_H_
#define WINNOW_COMPARATOR_H_

#include <string>
#include <string_view>

namespace winnow {

// A total order over byte strings. A database records the name of the comparator of each column
// family and refuses to open with another one. Implementations must be thread-safe, must not throw,
// and must stay alive for as long as any database that uses them is open.
class Comparator {
 public:
  virtual ~Comparator() = default;

  // The name stored in the database. Change it whenever the order changes. At most 255 bytes;
  // names that start with "winnow." are reserved.
  virtual std::string_view Name() const = 0;

  // < 0, 0 or > 0 as `a` sorts before, equal to or after `b`.
  virtual int Compare(std::string_view a, std::string_view b) const = 0;

  // True if keys that compare equal always have equal bytes. A membership filter hashes bytes, so
  // a column family whose comparator answers false (the safe default) can only be opened with the
  // filter spec "none".
  virtual bool EqualKeysHaveEqualBytes() const { return false; }

  // May shorten `*start` to any string in [*start, limit); used to keep index entries small.
  // Doing nothing is right.
  virtual void FindShortestSeparator(std::string* start, std::string_view limit) const;

  // May shorten `*key` to any string >= *key. Doing nothing is right.
  virtual void FindShortSuccessor(std::string* key) const;
};

// The lexicographic order of unsigned bytes: the default, and the only order under which prefix and
// delimiter filter keys can serve iterators. Never null; never destroyed.
const Comparator* BytewiseComparator();

}  // namespace winnow

#endif  // WINNOW_COMPARATOR_H_
