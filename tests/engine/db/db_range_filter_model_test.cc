// Bounded iterators over files with range filters show what a map shows, whatever has been done.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Model = std::map<std::string, std::string>;

// Keys of a few shapes that lie close together: numbers, words that continue each other, zeros.
std::string AnyKey(std::mt19937_64& random) {
  const uint64_t number = random() % 3000;
  switch (random() % 4) {
    case 0: {
      std::string key = "n:";
      for (int shift = 56; shift >= 0; shift -= 8) {
        key.push_back(static_cast<char>(number * 7 >> shift));
      }
      return key;
    }
    case 1:
      return absl::StrCat("word", number % 40, std::string(number % 3, '\0'));
    case 2:
      return absl::StrCat("a long prefix of many bytes/", number % 300, "/", number % 7);
    default:
      return absl::StrCat(number);
  }
}

class Checked {
 public:
  explicit Checked(uint64_t seed) : random_(seed), db_(Chosen(&random_)) {}

  void Run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); step++) Step();
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); i++) Iterate(nullptr, model_);
    EXPECT_TRUE(VerifyMessages(*db_).empty());
  }

 private:
  static Options Chosen(std::mt19937_64* random) {
    Options options = (*random)() % 2 == 0 ? MemoryDb::Busy() : MemoryDb::Quiet();
    options.write_buffer_bytes = 64 << 10;
    options.target_file_bytes = 64 << 10;
    options.filter = absl::StrCat((*random)() % 2 == 0 ? "none" : "blocked_bloom:10",
                                  "+range:", 3 + (*random)() % 20);
    if ((*random)() % 3 == 0) options.filter_key = "whole+prefix:4";
    options.merge_operator = *ParseMergeOperator("append:+");
    return options;
  }

  void Step() {
    const std::string key = AnyKey(random_);
    switch (random_() % 40) {
      case 0:
        ASSERT_TRUE(db_->Flush().ok());
        return;
      case 1:
        if (random_() % 4 == 0) db_.CompactAll();
        return;
      case 2: {
        std::string end = AnyKey(random_);
        if (end <= key) end = key + "5";
        ASSERT_TRUE(db_->DeleteRange(WriteOptions(), key, end).ok());
        model_.erase(model_.lower_bound(key), model_.lower_bound(end));
        return;
      }
      case 3:
        if (random_() % 10 == 0) db_.Reopen();
        return;
      case 4:
      case 5:
        Iterate(nullptr, model_);
        return;
      case 6: {
        const Snapshot* const snapshot = db_->GetSnapshot();
        const Model frozen = model_;
        for (int i = 0; i < 5; i++) Put(AnyKey(random_));
        Iterate(snapshot, frozen);
        db_->ReleaseSnapshot(snapshot);
        return;
      }
      case 7: {
        ASSERT_TRUE(db_->Merge(WriteOptions(), key, "m").ok());
        const auto found = model_.find(key);
        model_[key] = found == model_.end() ? "m" : found->second + "+m";
        return;
      }
      case 8:
      case 9:
      case 10:
        db_.Delete(key);
        model_.erase(key);
        return;
      default:
        Put(key);
    }
  }
  void Put(const std::string& key) {
    const std::string value(random_() % 100, 'v');
    db_.Put(key, value);
    model_[key] = value;
  }

  // One iterator, moved at random within bounds that are mostly close together.
  void Iterate(const Snapshot* snapshot, const Model& model) {
    ReadOptions read;
    read.snapshot = snapshot;
    if (random_() % 5 != 0) read.lower_bound = AnyKey(random_);
    if (random_() % 5 != 0) {
      read.upper_bound = random_() % 2 == 0 && read.lower_bound.has_value()
                             ? *read.lower_bound + static_cast<char>(random_())
                             : AnyKey(random_);
    }
    Model shown;
    for (const auto& [key, value] : model) {
      if (read.lower_bound.has_value() && key < *read.lower_bound) continue;
      if (read.upper_bound.has_value() && key >= *read.upper_bound) continue;
      shown.emplace(key, value);
    }
    const auto iterator = db_->NewIterator(read);
    auto at = shown.end();
    for (int move = 0; move < 8; move++) {
      const std::string key = AnyKey(random_);
      switch (random_() % 6) {
        case 0:
          iterator->SeekToFirst();
          at = shown.begin();
          break;
        case 1:
          iterator->SeekToLast();
          at = shown.empty() ? shown.end() : std::prev(shown.end());
          break;
        case 2:
          iterator->Seek(key);
          at = shown.lower_bound(key);
          break;
        case 3: {
          iterator->SeekForPrev(key);
          const auto behind = shown.upper_bound(key);
          at = behind == shown.begin() ? shown.end() : std::prev(behind);
          break;
        }
        case 4:
          if (!iterator->Valid()) continue;
          iterator->Next();
          ++at;
          break;
        default:
          if (!iterator->Valid()) continue;
          iterator->Prev();
          at = at == shown.begin() ? shown.end() : std::prev(at);
      }
      ASSERT_TRUE(iterator->status().ok()) << iterator->status();
      ASSERT_EQ(iterator->Valid(), at != shown.end());
      if (at == shown.end()) continue;
      ASSERT_EQ(iterator->key(), at->first);
      ASSERT_EQ(iterator->value(), at->second);
    }
  }

  std::mt19937_64 random_;
  MemoryDb db_;
  Model model_;
};

TEST(DbRangeFilterModel, BoundedIteratorsShowWhatAMapShows) {
  for (const uint64_t seed : Seeds(12)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    Checked(seed).Run(4000);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace winnow
