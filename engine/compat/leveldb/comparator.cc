#include "leveldb/comparator.h"

#include "engine/compat/leveldb/conversions.h"

namespace leveldb {

Comparator::~Comparator() = default;

namespace {

// For the program to call. A database that is opened with it uses Winnow's own bytewise order and
// records that one's name: filters of prefixes need to know that the order is bytewise.
class Bytewise final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return "leveldb.BytewiseComparator"; }
  // The store's own rule: both interfaces ask for the same thing.
  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    winnow::BytewiseComparator()->FindShortestSeparator(start, ToView(limit));
  }
  void FindShortSuccessor(std::string* key) const override {
    winnow::BytewiseComparator()->FindShortSuccessor(key);
  }
};

// Refers to the program's comparator, which must outlive the database: that is LevelDB's rule.
class WrappedComparator final : public winnow::Comparator {
 public:
  WrappedComparator(const leveldb::Comparator* comparator, bool equal_keys_have_equal_bytes)
      : comparator_(comparator), equal_keys_have_equal_bytes_(equal_keys_have_equal_bytes) {}
  std::string_view Name() const override { return comparator_->Name(); }
  int Compare(std::string_view a, std::string_view b) const override {
    return comparator_->Compare(ToSlice(a), ToSlice(b));
  }
  // LevelDB's interface has no place for this; what the program promises by its choice of a filter
  // policy stands in for it.
  bool EqualKeysHaveEqualBytes() const override { return equal_keys_have_equal_bytes_; }
  void FindShortestSeparator(std::string* start, std::string_view limit) const override {
    // Handed on: index entries come out as short as the program's order allows.
    comparator_->FindShortestSeparator(start, ToSlice(limit));
  }
  void FindShortSuccessor(std::string* key) const override { comparator_->FindShortSuccessor(key); }

 private:
  const leveldb::Comparator* const comparator_;
  const bool equal_keys_have_equal_bytes_;
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const Bytewise* const instance = new Bytewise;  // never destroyed: used until exit
  return instance;
}

std::unique_ptr<const winnow::Comparator> WrapComparator(const Comparator* comparator,
                                                         bool equal_keys_have_equal_bytes) {
  return std::make_unique<WrappedComparator>(comparator, equal_keys_have_equal_bytes);
}

}  // namespace leveldb
