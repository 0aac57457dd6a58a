// What members of a group write that come before the one that is validated is a conflict as well,
// though it is in no memtable yet.
#include "engine/transaction/conflict_check.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

// The one thread of these tests leads.
class ABSL_SCOPED_LOCKABLE LeadsAlone {
 public:
  LeadsAlone() ABSL_EXCLUSIVE_LOCK_FUNCTION(write_leadership) ABSL_NO_THREAD_SAFETY_ANALYSIS {}
  ~LeadsAlone() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {}
};

class ConflictCheckTest : public testing::Test {
 protected:
  // The keys from "b" to before "d", and the key "key".
  explicit ConflictCheckTest(Options options = MemoryDb::Quiet()) : db_(std::move(options)) {
    const auto* family = static_cast<const ColumnFamilyState*>(db_->DefaultColumnFamily());
    TrackedFamily& tracked = keys_.try_emplace(family->id(), family).first->second;
    tracked.ranges.Add("b", "d", 0);
    tracked.keys.try_emplace("key");
  }

  absl::StatusCode BehindMember(const WriteBatch& batch) {
    EarlierUpdates earlier;
    earlier.Add(batch);
    ConflictCheck check(&keys_, &publishing_);
    EXPECT_TRUE(check.CheckBefore().ok());
    const LeadsAlone leads;
    const absl::Status status = check.Validate(&earlier);
    EXPECT_EQ(check.found_conflict(), !status.ok());
    return status.code();
  }
  absl::StatusCode BehindPut(std::string_view key) {
    WriteBatch batch;
    batch.Put("other", "1");
    batch.Put(key, "another's");
    return BehindMember(batch);
  }
  absl::StatusCode BehindDeletion(std::string_view begin, std::string_view end) {
    WriteBatch batch;
    batch.Put("other", "1");
    batch.DeleteRange(begin, end);
    return BehindMember(batch);
  }

  MemoryDb db_;
  TrackedKeys keys_;
  PublishQueue publishing_;
};

constexpr auto kIsConflict = absl::StatusCode::kAborted;
constexpr auto kIsNone = absl::StatusCode::kOk;

TEST_F(ConflictCheckTest, KeysOfARangeThatAnEarlierMemberWrites) {
  EXPECT_EQ(BehindPut("b"), kIsConflict);
  EXPECT_EQ(BehindPut("c"), kIsConflict);
  EXPECT_EQ(BehindPut("a"), kIsNone);
  EXPECT_EQ(BehindPut("d"), kIsNone);
  EXPECT_EQ(BehindPut("key"), kIsConflict);
}

TEST_F(ConflictCheckTest, RangesThatAnEarlierMemberDeletes) {
  EXPECT_EQ(BehindDeletion("a", "b0"), kIsConflict);
  EXPECT_EQ(BehindDeletion("c", "c0"), kIsConflict);
  EXPECT_EQ(BehindDeletion("c0", "e"), kIsConflict);
  EXPECT_EQ(BehindDeletion("a", "e"), kIsConflict);
  EXPECT_EQ(BehindDeletion("a", "b"), kIsNone);
  EXPECT_EQ(BehindDeletion("d", "e"), kIsNone);
  EXPECT_EQ(BehindDeletion("c", "c"), kIsNone) << "it deletes nothing";
  EXPECT_EQ(BehindDeletion("k", "l"), kIsConflict);
}

TEST_F(ConflictCheckTest, OtherFamiliesOfAnEarlierMember) {
  ColumnFamily* const other = *db_->CreateColumnFamily(ColumnFamilyOptions(), "other");
  WriteBatch batch;
  batch.Put(other, "c", "another's");
  batch.DeleteRange(other, "a", "z");
  EXPECT_EQ(BehindMember(batch), kIsNone);
}

class CaseBlindConflictCheckTest : public ConflictCheckTest {
 protected:
  CaseBlindConflictCheckTest() : ConflictCheckTest(CaseBlindOptions()) {}
};

TEST_F(CaseBlindConflictCheckTest, KeysThatCompareEqual) {
  EXPECT_EQ(BehindPut("KEY"), kIsConflict);
  EXPECT_EQ(BehindPut("C"), kIsConflict);
  EXPECT_EQ(BehindPut("D"), kIsNone);
  EXPECT_EQ(BehindDeletion("CC", "E"), kIsConflict);
}

}  // namespace
}  // namespace winnow
