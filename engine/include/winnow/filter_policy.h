// A membership filter of the user's own, in place of Winnow's kinds.
//
//   class FirstBytes final : public winnow::FilterPolicy { ... };
//   static const FirstBytes policy;
//   options.filter_policy = &policy;               // must outlive the database
#ifndef WINNOW_FILTER_POLICY_H_
#define WINNOW_FILTER_POLICY_H_

#include <span>
#include <string>
#include <string_view>

namespace winnow {

// Makes a filter for each SSTable from its keys and answers from it. The filter is stored in the
// SSTable under the policy's name; an SSTable whose policy is not the one that the column family
// was opened with is read as if every key might be there. Implementations must be thread-safe, must
// not throw, and must not call into the database.
class FilterPolicy {
 public:
  virtual ~FilterPolicy() = default;

  // The name stored in each SSTable: 1 to 255 bytes; names that start with "winnow." are reserved.
  // Change it whenever filters of the old form could be read wrongly.
  virtual std::string_view Name() const = 0;

  // Appends to `*filter` (empty at first, any size) a filter for `keys`: every user key of one
  // SSTable, deleted ones included, in the comparator's order, each once. The keys live until the
  // call returns. Nothing appended means no filter. Building holds all keys of the SSTable in
  // memory.
  virtual void CreateFilter(std::span<const std::string_view> keys, std::string* filter) const = 0;

  // Must be true if `key` was among the keys that `filter` was made from, else the key is lost to
  // readers; should be false for most others. `filter` is what CreateFilter appended, under the
  // protection of a checksum, and lives until the call returns.
  virtual bool KeyMayMatch(std::string_view key, std::string_view filter) const = 0;
};

}  // namespace winnow

#endif  // WINNOW_FILTER_POLICY_H_
