// The same operations on LevelDB, on Winnow's C functions of the same names, and on Winnow behind
// LevelDB's C++ classes: every answer must be the same.
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "tests/engine/compat/differential_store.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

// One seed's operations, each on all stores.
class Comparison {
 public:
  explicit Comparison(uint64_t seed) : random_(seed) {
    settings_ = {size_t{64} << (10 + Below(3)), size_t{256} << Below(5),
                 static_cast<int>(1 + Below(20)), Below(2) == 0 ? 0 : 10, Below(2) == 0};
    Open();
  }

  void Do(int num_operations) {
    for (operation_ = 0; operation_ < num_operations && !testing::Test::HasFailure();
         operation_++) {
      Next();
    }
    Reopen();
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  // Few keys, so that they meet again; short and long ones, with bytes at both ends of the order.
  std::string Key() {
    static constexpr char kBytes[] = {'\0', '\x01', 'a', 'b', '\x7f', '\x80', '\xff'};
    std::string key;
    if (Below(3) == 0) return absl::StrCat("user", Below(300));
    const uint64_t length = Below(5) == 0 ? Below(40) : Below(4);
    for (uint64_t i = 0; i < length; i++) key.push_back(kBytes[Below(sizeof(kBytes))]);
    return key;
  }
  std::string Value() {
    return absl::StrCat(value_++, std::string(Below(20) == 0 ? Below(20'000) : Below(300),
                                              static_cast<char>('a' + Below(26))));
  }
  int SnapshotOrNone() {
    return num_snapshots_ == 0 || Below(2) == 0 ? kNoSnapshot
                                                : static_cast<int>(Below(num_snapshots_));
  }

  template <typename Call>
  void OnAll(Call call) {
    for (const auto& store : stores_) call(*store);
  }
  template <typename Call>
  void Same(const char* what, Call call) {
    const auto expected = call(*stores_[0]);
    for (size_t i = 1; i < stores_.size(); i++) {
      EXPECT_EQ(call(*stores_[i]), expected)
          << what << ", operation " << operation_ << (i == 1 ? ", C" : ", C++");
    }
  }

  void Open() {
    const std::string& directory = directory_.path();
    stores_.push_back(OpenLevelDb(settings_, directory + "/leveldb"));
    stores_.push_back(OpenWithCFunctions(settings_, directory + "/c"));
    stores_.push_back(OpenWithCppClasses(settings_, directory + "/cpp"));
  }
  void Reopen() {
    CompareAll();
    stores_.clear();
    num_snapshots_ = num_iterators_ = 0;
    Open();
    CompareAll();
  }
  void CompareAll() {
    OnAll([](Store& store) { store.NewIterator(kNoSnapshot); });
    const int last = static_cast<int>(num_iterators_);
    Same("all entries", [&](Store& store) {
      std::string all;
      for (std::string at = store.Move(last, Step::kFirst, ""); at != "end";
           at = store.Move(last, Step::kNext, "")) {
        absl::StrAppend(&all, at, "\n");
      }
      return all;
    });
    OnAll([&](Store& store) { store.DropIterator(last); });
  }

  void MoveOne() {
    const int which = static_cast<int>(Below(num_iterators_));
    for (uint64_t steps = 1 + Below(20); steps > 0; steps--) {
      const uint64_t kind = Below(12);
      const Step step = kind == 0   ? Step::kFirst
                        : kind == 1 ? Step::kLast
                        : kind < 5  ? Step::kSeek
                        : kind < 9  ? Step::kNext
                                    : Step::kPrev;
      const std::string key = Key();
      Same("move", [&](Store& store) { return store.Move(which, step, key); });
    }
  }

  void Next() {
    const uint64_t kind = Below(1000);
    const std::string key = Key();
    if (kind < 350) {
      const std::string value = Value();
      const bool sync = Below(200) == 0;
      OnAll([&](Store& store) { store.Put(key, value, sync); });
    } else if (kind < 450) {
      OnAll([&](Store& store) { store.Delete(key); });
    } else if (kind < 550) {
      std::vector<Update> updates(Below(20));
      for (Update& update : updates) {
        update.key = Key();
        if (Below(3) != 0) update.value = Value();
      }
      OnAll([&](Store& store) { store.Write(updates); });
    } else if (kind < 750) {
      const int snapshot = SnapshotOrNone();
      Same("get", [&](Store& store) { return store.Get(key, snapshot); });
    } else if (kind < 790 && num_snapshots_ < 5) {
      OnAll([](Store& store) { store.TakeSnapshot(); });
      num_snapshots_++;
    } else if (kind < 820 && num_snapshots_ > 0) {
      const int which = static_cast<int>(Below(num_snapshots_--));
      OnAll([&](Store& store) { store.ReleaseSnapshot(which); });
    } else if (kind < 860 && num_iterators_ < 4) {
      const int snapshot = SnapshotOrNone();
      OnAll([&](Store& store) { store.NewIterator(snapshot); });
      num_iterators_++;
    } else if (kind < 880 && num_iterators_ > 0) {
      const int which = static_cast<int>(Below(num_iterators_--));
      OnAll([&](Store& store) { store.DropIterator(which); });
    } else if (kind < 985 && num_iterators_ > 0) {
      MoveOne();
    } else if (kind < 990) {
      const Bound begin = Below(3) == 0 ? Bound() : Bound(key);
      const Bound end = Below(3) == 0 ? Bound() : Bound(Key());
      OnAll([&](Store& store) { store.Compact(begin, end); });
    } else if (kind < 994) {
      for (const char* name : {"leveldb.stats", "leveldb.num-files-at-level0", "leveldb.sstables",
                               "leveldb.num-files-at-level", "leveldb.none", ""}) {
        Same(name, [&](Store& store) { return store.HasProperty(name); });
      }
    } else if (kind < 996) {
      Reopen();
    }
  }

  std::mt19937_64 random_;
  Settings settings_;
  const ScratchDirectory directory_{"leveldb_differential"};
  std::vector<std::unique_ptr<Store>> stores_;
  uint64_t num_snapshots_ = 0;
  uint64_t num_iterators_ = 0;
  uint64_t value_ = 0;
  int operation_ = 0;
};

TEST(LevelDbDifferential, EveryAnswerIsLevelDbs) {
  {
    const ScratchDirectory directory("leveldb_differential");
    if (OpenLevelDb({65536, 4096, 16, 0, false}, directory.path() + "/db") == nullptr) {
      GTEST_SKIP() << "there is no libleveldb.so";
    }
  }
  for (const uint64_t seed : Seeds(3)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    Comparison(seed).Do(LongTests() ? 6000 : 800);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace winnow
