// The user's own say in what compactions keep.
//
//   class DropTemporary final : public winnow::CompactionFilter {
//    public:
//     Decision Filter(const Entry& entry, std::string* /*new_value*/) const override {
//       return entry.key.starts_with("tmp:") ? Decision::kRemove : Decision::kKeep;
//     }
//   };
//   static const DropTemporary filter;
//   options.compaction_filter = &filter;           // must outlive the database
#ifndef WINNOW_COMPACTION_FILTER_H_
#define WINNOW_COMPACTION_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow {

// Called for values that a compaction is about to write again: one object for all compactions of
// the column families that name it, called by several threads at once. So implementations must be
// thread-safe; state of one compaction cannot be kept in it.
//
// What it is shown:
// - values, where the newest of what is compacted of a key is one, in the order of the keys. No
//   deletions; no merge operands, and not the value below them; nothing that has expired
//   (ColumnFamilyOptions::ttl_seconds), and nothing that a range deletion hides which is compacted
//   with it.
// - never what a snapshot needs: no version that one of them sees. If a snapshot is taken while the
//   compaction runs, and still held when it ends, it is run again without the filter, whose changes
//   are thrown away: while snapshots are held at all times, by transactions too, it changes
//   nothing. Iterators keep what they have.
// - only what compactions rewrite: flushes do not call it, and a file that moves to another level
//   unchanged is not read. DB::CompactRange rewrites all of a range.
// So a value may be shown many times, once, or never, and one of an older version of a key while a
// newer one is in memory or in a level above. A decision should depend on nothing but the entry.
//
// What it decides takes effect with the compaction, all of it or nothing: a crash or an error
// before leaves everything as it was, and the values are shown again. What it throws fails the
// compaction, as a value that is too long does: CompactRange returns it, and where the compaction
// began by itself nothing can be written until the database is opened again. It must not call into
// the database, where what might wait for the compaction (every write, CompactRange, Flush, Close
// and the like) is refused with FailedPrecondition, and is called for each entry: what it takes
// compactions take.
class CompactionFilter {
 public:
  enum class Decision {
    kKeep,
    // The key is absent from then on, older versions of it included: above the last level a
    // deletion takes the value's place.
    kRemove,
    // `*new_value` takes the value's place, under the same key, and with its write time.
    kChangeValue,
  };

  // The bytes live until the call returns.
  struct Entry {
    std::string_view key;
    std::string_view value;
    std::string_view column_family;  // its name
    int level = 0;                   // that the compaction writes to
    // No older version of the key can be in the family, but for those of this compaction. Never
    // true with ColumnFamilyOptions::allow_ingest_behind.
    bool is_last_level = false;
  };

  virtual ~CompactionFilter() = default;

  // `*new_value` is empty at first; a value over kMaxValueBytes fails the compaction.
  virtual Decision Filter(const Entry& entry, std::string* new_value) const = 0;
};

}  // namespace winnow

#endif  // WINNOW_COMPACTION_FILTER_H_
