// Group commit: every group keeps the rules, and nobody is forgotten or served twice.
#include "engine/write/write_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr size_t kSmallBatchBytes = 100;
constexpr size_t kLargeBatchBytes = 400 << 10;

WriteBatch BatchOf(size_t value_bytes) {
  WriteBatch batch;
  batch.Put("key", std::string(value_bytes, 'v'));
  return batch;
}

// A write path without log and memtables: gives out sequence numbers and counts.
class FakeStore {
 public:
  // As DBImpl::Write does it; returns the sequence number that the request was given.
  SequenceNumber Write(const WriteBatch& batch, const WriteOptions& options) {
    WriteRequest request;
    request.batch = &batch;
    request.options = options;
    const WriteRequest::State state = queue_.Join(&request);
    if (state == WriteRequest::kInserts) {
      InsertScope insert(&queue_, &request);
      inserted_.fetch_add(1);
    } else if (state == WriteRequest::kLeads) {
      LeaderScope leader(&queue_, &request);
      Number(leader.group());
      leader.HandOn();
      Insert(leader.group());
    }
    EXPECT_GE(queue_.publishing().visible_sequence(), request.first_sequence)
        << "served before it is visible";
    return request.first_sequence;
  }
  // A stretch that groups with nobody.
  void RunExclusively() {
    ExclusiveWrites exclusive(&queue_);
    EXPECT_EQ(leaders_.fetch_add(1), 0);
    const SequenceNumber before = sequence_;
    EXPECT_EQ(inserted_.load(), before) << "a write is under way in an exclusive stretch";
    EXPECT_EQ(queue_.publishing().visible_sequence(), before);
    std::this_thread::yield();
    EXPECT_EQ(sequence_, before) << "a write ran inside an exclusive stretch";
    EXPECT_EQ(leaders_.fetch_sub(1), 1);
  }

  SequenceNumber sequence() const { return sequence_; }
  uint64_t inserted() const { return inserted_.load(); }
  size_t largest_group() const { return largest_group_; }

 private:
  void Number(WriteGroup* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    EXPECT_EQ(leaders_.fetch_add(1), 0) << "two leaders at once";
    queue_.publishing().MakeRoomFor(group->batch_bytes);
    size_t bytes = 0;
    for (const WriteRequest* member : group->requests()) {
      bytes += member->batch->size_bytes();
      EXPECT_EQ(member->options.disable_wal, group->disable_wal);
      if (member->options.sync) {
        EXPECT_TRUE(group->wants_sync);
      }
    }
    EXPECT_EQ(bytes, group->batch_bytes);
    EXPECT_EQ(group->wants_sync, group->requests()[0]->options.sync);
    if (group->requests().size() > 1 && group->requests()[0]->batch->size_bytes() < 1024) {
      EXPECT_LT(bytes, kLargeBatchBytes) << "a small write waits for a large one";
    }
    for (WriteRequest* member : group->requests()) member->first_sequence = ++sequence_;
    largest_group_ = std::max(largest_group_, group->requests().size());
    group->publication.last_sequence = sequence_;
    queue_.publishing().Enter(&group->publication);
    EXPECT_EQ(leaders_.fetch_sub(1), 1);
  }
  void Insert(WriteGroup* group) {
    PublishScope publish(&queue_.publishing(), &group->publication);
    const SequenceNumber last = group->publication.last_sequence;
    if (last % 2 == 0) {
      queue_.StartInserts(group);
      inserted_.fetch_add(1);
      queue_.WaitForInserts(group);
    } else {
      inserted_.fetch_add(group->requests().size());
    }
    EXPECT_LT(queue_.publishing().visible_sequence(), last) << "visible before it was inserted";
    EXPECT_TRUE(publish.Publish());
    EXPECT_GE(inserted_.load(), last) << "visible before all up to it have inserted";
  }

  WriteQueue queue_;
  std::atomic<int> leaders_{0};
  std::atomic<uint64_t> inserted_{0};
  // The leader's.
  SequenceNumber sequence_ = 0;
  size_t largest_group_ = 0;
};

TEST(WriteQueue, ALoneWriterLeadsAtOnce) {
  FakeStore store;
  const WriteBatch batch = BatchOf(1);
  for (SequenceNumber i = 1; i <= 100; i++) EXPECT_EQ(store.Write(batch, WriteOptions()), i);
  EXPECT_EQ(store.largest_group(), 1u);
}

TEST(WriteQueue, ServesEachOfManyWritersOnceInItsOwnOrder) {
  constexpr int kThreads = 8;
  const int writes = LongTests() ? 50000 : 2000;
  FakeStore store;
  const WriteBatch small = BatchOf(kSmallBatchBytes);
  const WriteBatch large = BatchOf(kLargeBatchBytes);
  std::vector<std::vector<SequenceNumber>> given(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < writes; i++) {
        WriteOptions options;
        options.sync = (i + thread) % 7 == 0;
        options.disable_wal = !options.sync && (i + thread) % 5 == 0;
        given[static_cast<size_t>(thread)].push_back(
            store.Write(i % 11 == thread ? large : small, options));
        if (i % 50 == thread) store.RunExclusively();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto total = static_cast<uint64_t>(kThreads) * static_cast<uint64_t>(writes);
  EXPECT_EQ(store.sequence(), total);
  EXPECT_EQ(store.inserted(), total);
  std::vector<bool> seen(total + 1, false);
  for (const auto& sequences : given) {
    SequenceNumber last = 0;
    for (const SequenceNumber sequence : sequences) {
      ASSERT_GT(sequence, last);
      last = sequence;
      ASSERT_FALSE(seen[sequence]) << "sequence number " << sequence << " was given twice";
      seen[sequence] = true;
    }
  }
  EXPECT_GT(store.largest_group(), 1u) << "nobody ever rode along";
}

TEST(WriteQueue, ExclusiveStretchesFollowOneAnother) {
  FakeStore store;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; i++) store.RunExclusively();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const WriteBatch batch = BatchOf(1);
  EXPECT_EQ(store.Write(batch, WriteOptions()), 1u);
}

}  // namespace
}  // namespace winnow
