// A user's own filter: built from the keys of each table, stored under its name, asked only by it.
#include "winnow/filter_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

// Stores every key, separated by newlines: exact, and easy to look at.
class KeyListPolicy final : public FilterPolicy {
 public:
  explicit KeyListPolicy(std::string name) : name_(std::move(name)) {}
  std::string_view Name() const override { return name_; }
  void CreateFilter(std::span<const std::string_view> keys, std::string* filter) const override {
    EXPECT_TRUE(filter->empty());
    num_filters++;
    for (const std::string_view key : keys) filter->append(key).push_back('\n');
  }
  bool KeyMayMatch(std::string_view key, std::string_view filter) const override {
    num_questions++;
    if (denies_everything) return false;
    std::string line(key);
    line.push_back('\n');
    return filter.starts_with(line) || filter.find("\n" + line) != std::string_view::npos;
  }

  mutable std::atomic<int> num_filters{0};
  mutable std::atomic<int> num_questions{0};
  std::atomic<bool> denies_everything{false};

 private:
  const std::string name_;
};

Options WithPolicy(const FilterPolicy* policy) {
  Options options = MemoryDb::Quiet();
  options.filter_policy = policy;
  return options;
}

absl::Status GetStatus(DB& db, std::string_view key) {
  std::string value;
  return db.Get(ReadOptions(), key, &value);
}

TEST(FilterPolicyTest, AnswersForTheTablesThatItFiltered) {
  KeyListPolicy policy("test.key-list");
  MemoryDb db(WithPolicy(&policy));
  db.Put("apple", "red");
  db.Put("plum", "blue");
  ASSERT_TRUE(db->Delete(WriteOptions(), "cherry").ok());
  ASSERT_TRUE(db->Flush().ok());
  EXPECT_EQ(policy.num_filters, 1);

  EXPECT_TRUE(GetStatus(*db, "apple").ok());
  EXPECT_TRUE(absl::IsNotFound(GetStatus(*db, "cherry")));
  const auto blocks_read = [&] {
    return db->GetStatistics().Get(Ticker::kBlockCacheHits) +
           db->GetStatistics().Get(Ticker::kBlockCacheMisses);
  };
  const uint64_t before = blocks_read();
  EXPECT_TRUE(absl::IsNotFound(GetStatus(*db, "banana")));
  EXPECT_EQ(blocks_read(), before) << "the filter's no must end the look-up";
  EXPECT_FALSE(db->MayExist(ReadOptions(), "banana"));
  EXPECT_TRUE(db->MayExist(ReadOptions(), "plum"));

  policy.denies_everything = true;
  EXPECT_TRUE(absl::IsNotFound(GetStatus(*db, "apple"))) << "the policy was not asked";
}

TEST(FilterPolicyTest, IsAskedAfterReopeningAndByMultiGetAndExplain) {
  KeyListPolicy policy("test.key-list");
  MemoryDb db(WithPolicy(&policy));
  db.Put("a", "1");
  db.Put("c", "3");
  ASSERT_TRUE(db->Flush().ok());
  db.Reopen();
  const std::string_view keys[] = {"a", "b", "c"};
  PinnedValue values[3];
  absl::Status statuses[3];
  const int before = policy.num_questions;
  db->MultiGet(ReadOptions(), keys, values, statuses);
  EXPECT_GT(policy.num_questions, before);
  EXPECT_EQ(values[0].view(), "1");
  EXPECT_TRUE(absl::IsNotFound(statuses[1]));
  EXPECT_EQ(values[2].view(), "3");
  for (PinnedValue& value : values) value.Reset();

  const auto explanation = db->Explain("b");
  ASSERT_TRUE(explanation.ok());
  const ExplainStep& last = explanation->steps.back();
  EXPECT_EQ(last.filter, "policy test.key-list");
  EXPECT_EQ(last.filter_answer, ExplainStep::FilterAnswer::kNo);
  EXPECT_TRUE(VerifyMessages(*db).empty());
  policy.denies_everything = true;
  EXPECT_FALSE(VerifyMessages(*db).empty()) << "a filter that denies its keys is found";
}

TEST(FilterPolicyTest, WithoutItsNameEveryKeyMayBeThere) {
  KeyListPolicy policy("test.key-list");
  MemoryDb db(WithPolicy(&policy));
  db.Put("apple", "red");
  db.Put("plum", "blue");
  ASSERT_TRUE(db->Flush().ok());
  policy.denies_everything = true;

  db.options().filter_policy = nullptr;
  db.Reopen();
  EXPECT_TRUE(GetStatus(*db, "apple").ok());
  EXPECT_TRUE(db->MayExist(ReadOptions(), "banana"));
  EXPECT_TRUE(VerifyMessages(*db).empty());

  KeyListPolicy other("test.other");
  db.options().filter_policy = &other;
  db.Reopen();
  EXPECT_TRUE(GetStatus(*db, "apple").ok());
  EXPECT_EQ(other.num_questions, 0) << "another policy's filter must not be read";
}

TEST(FilterPolicyTest, CompactionFiltersAnewWithThePresentSetting) {
  KeyListPolicy policy("test.key-list");
  MemoryDb db(WithPolicy(&policy));
  db.Put("apple", "red");
  ASSERT_TRUE(db->Flush().ok());
  db.options().filter_policy = nullptr;
  db.Reopen();
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  policy.denies_everything = true;
  db.options().filter_policy = &policy;
  db.Reopen();
  EXPECT_TRUE(GetStatus(*db, "apple").ok()) << "the new table has Winnow's own filter";
  EXPECT_FALSE(db->MayExist(ReadOptions(), "banana"));
}

TEST(FilterPolicyTest, EachKeyOnceInOrderWhateverItsVersions) {
  class Recording final : public FilterPolicy {
   public:
    std::string_view Name() const override { return "test.recording"; }
    void CreateFilter(std::span<const std::string_view> given, std::string* filter) const override {
      keys.assign(given.begin(), given.end());
      filter->assign("x");
    }
    bool KeyMayMatch(std::string_view, std::string_view) const override { return true; }
    mutable std::vector<std::string> keys;
  };
  Recording policy;
  MemoryDb db(WithPolicy(&policy));
  db.Put("b", "old");
  const SnapshotGuard snapshot(*db);
  db.Put("b", "new");
  db.Put("", "the empty key");
  db.Put(std::string_view("a\0c", 3), "a zero byte");
  ASSERT_TRUE(db->Delete(WriteOptions(), "z").ok());
  ASSERT_TRUE(db->Flush().ok());
  EXPECT_EQ(policy.keys, (std::vector<std::string>{"", std::string("a\0c", 3), "b", "z"}));
}

TEST(FilterPolicyTest, ReservedAndEmptyNamesAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("winnow.mine"), std::string(256, 'n')}) {
    const KeyListPolicy policy(name);
    const absl::Status status = ValidateOptions(WithPolicy(&policy));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_NE(status.message().find("filter_policy"), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace winnow
