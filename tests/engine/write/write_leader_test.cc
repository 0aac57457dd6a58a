// What a leader of the write queue does with a group, without a database around it.
#include "engine/write/write_leader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

class WriteLeaderTest : public testing::Test {
 protected:
  WriteLeaderTest() {
    options_.write_buffer_bytes = 1 << 16;
    options_.max_write_buffers = 2;
    EXPECT_TRUE(file_system_->CreateDirectories("/db").ok());
    FamilyRecord record;
    record.name = "default";
    record.comparator = BytewiseComparator();
    record.filter = "none";
    record.filter_key = "whole";
    ExclusiveWrites writes(&queue_);
    DatabaseLock lock(&mutex_);
    versions_.CreateNew(record);
    const uint64_t log_number = versions_.NewFileNumber();
    EXPECT_TRUE(logs_.StartNew(log_number).ok());
    auto family = std::make_unique<ColumnFamilyState>(versions_.families().at(0), options_, 1);
    family->SwitchMemtable();
    family_ = families_.Add(std::move(family));
    EXPECT_TRUE(versions_.StartManifest(log_number).ok());
    leader_.StartAt(10);
  }

  absl::Status Write(const WriteBatch& batch, WriteOptions options = {}) {
    WriteRequest request;
    request.batch = &batch;
    request.options = options;
    EXPECT_EQ(queue_.Join(&request), WriteRequest::kLeads);
    LeaderScope scope(&queue_, &request);
    absl::Status status = leader_.LogGroup(scope.group());
    scope.HandOn();
    if (status.ok()) status = leader_.InsertAndPublish(scope.group());
    status.Update(request.status);
    return status;
  }
  absl::Status Put(const std::string& key, const std::string& value, WriteOptions options = {}) {
    WriteBatch batch;
    batch.Put(key, value);
    return Write(batch, options);
  }

  Memtable* active() ABSL_NO_THREAD_SAFETY_ANALYSIS { return family_->active_for_insert(); }

  Options options_;
  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  EventQueue events_{{}};
  Recorder recorder_;
  DatabaseMutex mutex_;
  VersionSet versions_{{file_system_.get(), "/db", nullptr}, &mutex_};
  LogSet logs_{file_system_.get(), "/db"};
  ColumnFamilySet families_;
  WriteQueue queue_;
  BackgroundScheduler scheduler_{&mutex_, &events_, &recorder_, [this] { leader_.RequestWork(); }};
  LiveOptions live_options_{options_};
  BackgroundRateLimiter rate_limiter_{0};
  WriteLeader leader_{{&live_options_, &mutex_, &queue_, &logs_, &versions_, &families_,
                       &scheduler_, &events_, &recorder_, &rate_limiter_}};
  ColumnFamilyState* family_ = nullptr;
};

TEST_F(WriteLeaderTest, AGroupIsLoggedInsertedAndThenVisible) {
  ASSERT_TRUE(Put("a", "1").ok());
  EXPECT_EQ(leader_.visible_sequence(), 11u);
  WriteBatch batch;
  batch.Put("b", "2");
  batch.Delete("a");
  ASSERT_TRUE(Write(batch).ok());
  EXPECT_EQ(leader_.visible_sequence(), 13u);
  EXPECT_EQ(family_->active().num_entries(), 3u);
  EXPECT_TRUE(logs_.current_has_records());
  EXPECT_FALSE(leader_.has_unlogged_writes());
}

TEST_F(WriteLeaderTest, AWriteWithoutLogIsRemembered) {
  WriteOptions options;
  options.disable_wal = true;
  ASSERT_TRUE(Put("a", "1", options).ok());
  EXPECT_FALSE(logs_.current_has_records());
  EXPECT_TRUE(leader_.has_unlogged_writes());
}

TEST_F(WriteLeaderTest, ABatchOfAnUnknownFamilyIsRefusedAloneAndUsesNoSequence) {
  const std::string other_name = "other";
  FamilyRecord record;
  record.id = 7;
  record.name = other_name;
  record.comparator = BytewiseComparator();
  ColumnFamilyState other(record, options_, 1);
  WriteBatch batch;
  batch.Put(&other, "a", "1");
  EXPECT_TRUE(absl::IsFailedPrecondition(Write(batch)));
  EXPECT_EQ(leader_.visible_sequence(), 10u);
  EXPECT_FALSE(logs_.current_has_records()) << "nothing of it is in the log";
  EXPECT_TRUE(Put("a", "1").ok());
}

TEST_F(WriteLeaderTest, AFullMemtableIsSwitchedByTheNextLeaderWithItsLog) {
  const uint64_t first_log = logs_.current_number();
  const std::string value(options_.write_buffer_bytes, 'v');
  ASSERT_TRUE(Put("a", value).ok());
  EXPECT_TRUE(family_->immutables.empty()) << "never in the middle of a group";
  ASSERT_TRUE(Put("b", "small").ok());
  ASSERT_EQ(family_->immutables.size(), 1u);
  EXPECT_TRUE(family_->flush_wanted);
  EXPECT_EQ(family_->immutables[0]->log_number(), first_log);
  EXPECT_NE(logs_.current_number(), first_log);
  EXPECT_EQ(family_->active().log_number(), logs_.current_number());
  EXPECT_EQ(family_->active().num_entries(), 1u);
}

// Three writes: one that is in the log and no further, one that fills the memtable, and one before
// which that is switched.
TEST_F(WriteLeaderTest, AMemtableIsSwitchedOnceAllThatIsLoggedForItIsInIt) {
  const auto num_immutables = [this] {
    DatabaseLock lock(&mutex_);
    return family_->immutables.size();
  };
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(Put("b", "1").ok());  // has looked at the logs, as the first to follow another does
  WriteBatch batch;
  batch.Put("slow", "1");
  WriteRequest request;
  request.batch = &batch;
  ASSERT_EQ(queue_.Join(&request), WriteRequest::kLeads);
  LeaderScope slow(&queue_, &request);
  ASSERT_TRUE(leader_.LogGroup(slow.group()).ok());
  slow.HandOn();

  const std::string value(options_.write_buffer_bytes, 'v');
  std::thread filling([&] { EXPECT_TRUE(Put("large", value).ok()); });
  Memtable* const first = active();
  while (first->num_entries() < 3) std::this_thread::yield();
  std::thread switching([&] { EXPECT_TRUE(Put("next", "1").ok()); });
  for (int i = 0; i < 2000; i++) {
    ASSERT_EQ(num_immutables(), 0u) << "the slow one has not come to its memtable";
    std::this_thread::yield();
  }
  EXPECT_EQ(leader_.visible_sequence(), 12u);
  EXPECT_TRUE(leader_.InsertAndPublish(slow.group()).ok());
  filling.join();
  switching.join();
  EXPECT_EQ(leader_.visible_sequence(), 15u);
  ASSERT_EQ(num_immutables(), 1u);
  EXPECT_EQ(first->num_entries(), 4u);
  EXPECT_EQ(active()->num_entries(), 1u);
}

TEST_F(WriteLeaderTest, AfterAFatalErrorWritesAreRefusedWithItsReason) {
  {
    DatabaseLock lock(&mutex_);
    scheduler_.errors().SetFatal(absl::DataLossError("bad block"), "a flush");
  }
  const absl::Status refused = Put("a", "1");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused.ToString();
  EXPECT_NE(refused.message().find("bad block"), absl::string_view::npos);
  EXPECT_EQ(leader_.visible_sequence(), 10u);
  EXPECT_TRUE(absl::IsFailedPrecondition(Put("a", "1"))) << "and again";
}

TEST_F(WriteLeaderTest, AWriteDoesNotWaitForMemtablesThatCannotBeFlushedSoon) {
  const std::string value(options_.write_buffer_bytes, 'v');
  ASSERT_TRUE(Put("a", value).ok());
  ASSERT_TRUE(Put("b", value).ok());  // nobody flushes here: both buffers are full
  {
    DatabaseLock lock(&mutex_);
    scheduler_.errors().JobFailed(JobKind::kFlush, absl::ResourceExhaustedError("no space"));
  }
  const absl::Status refused = Put("c", "1");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused.ToString();
  EXPECT_EQ(leader_.visible_sequence(), 12u);
}

}  // namespace
}  // namespace winnow
