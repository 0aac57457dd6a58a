// A search for groups of entries that have certain values (engine/base/signed_entry.h), over the
// sources of a view: by the signatures of SSTables that have them, by the entries of everything
// else.
#ifndef WINNOW_ENGINE_VERSION_GROUP_SEARCH_H_
#define WINNOW_ENGINE_VERSION_GROUP_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/internal_iterator.h"
#include "engine/base/signed_entry.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/version.h"

namespace winnow {

struct SignedValue {
  std::string field;
  std::string value;
};

struct GroupQuestion {
  // Each is a bit of a number.
  static constexpr size_t kMaxValues = 64;

  SignedEntryParser parser = nullptr;
  std::vector<SignedValue> values;  // 1 to kMaxValues
  // The keys to look among, and the groups to which they belong: the first, and that behind the
  // last. Empty ends are open.
  std::string lower;
  std::string upper;
  std::string first_group;
  std::string end_group;
};

// The groups of one source, ascending, each with those values that it may have; groups without any
// need not be among them. Used by one thread at a time.
class GroupSource {
 public:
  virtual ~GroupSource() = default;
  virtual void SeekToFirst() = 0;
  virtual bool Valid() const = 0;
  // All three require Valid().
  virtual void Next() = 0;
  virtual std::string_view group() const = 0;
  virtual uint64_t values() const = 0;  // a bit for each of GroupQuestion::values
  virtual absl::Status status() const = 0;
};

// Groups that may have all the values, each of them in some source: the values of a group may lie
// in several, and any of them may be hidden or superseded in another. Nothing but sources and
// position is in memory: of each SSTable, or level of them, the index of signatures and one block.
class GroupSearch {
 public:
  // What comes up on the way. Both outlive the search.
  struct Findings {
    uint64_t signatures_asked = 0;
    // The signatures of an SSTable could not be read to their end: its entries are read instead.
    std::function<void(const absl::Status&)> on_refused;
  };

  GroupSearch(std::shared_ptr<const GroupQuestion> question, Findings* findings)
      : question_(std::move(question)), findings_(*findings) {}

  // The entries of a memtable.
  void AddEntries(std::unique_ptr<InternalIterator> entries);
  // The version outlives the search. False: no SSTable that may have groups of the question has
  // signatures.
  bool AddFiles(const Version& version, const SstableReadOptions& options);

  // To the first group, and on to the next. False: there is none, or status() says why.
  bool Next();
  // The group that Next came to.
  const std::string& group() const { return group_; }
  const absl::Status& status() const { return status_; }

 private:
  const std::shared_ptr<const GroupQuestion> question_;
  Findings& findings_;
  std::vector<std::unique_ptr<GroupSource>> sources_;
  bool is_started_ = false;
  std::string group_;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_GROUP_SEARCH_H_
