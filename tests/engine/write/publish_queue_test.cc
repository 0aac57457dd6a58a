// Groups become visible in the order in which they were logged, whoever has inserted first.
#include "engine/write/publish_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "engine/write/write_queue.h"

namespace winnow {
namespace {

// Groups of one update each, entered one after the other.
class PublishQueueTest : public testing::Test {
 protected:
  Publication* Enter() {
    ExclusiveStretch leads;
    queue_.MakeRoomFor(1);
    Publication& publication = groups_.emplace_back();
    publication.last_sequence = ++last_;
    queue_.Enter(&publication);
    return &publication;
  }
  // On a thread of its own, where the call may have to wait.
  std::thread Publish(Publication* publication, bool* visible) {
    return std::thread([this, publication, visible] { *visible = queue_.Publish(publication); });
  }

  // The test's own thread leads: there is no other.
  class ABSL_SCOPED_LOCKABLE ExclusiveStretch {
   public:
    ExclusiveStretch()
        ABSL_EXCLUSIVE_LOCK_FUNCTION(write_leadership) ABSL_NO_THREAD_SAFETY_ANALYSIS {}
    ~ExclusiveStretch() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {}
  };

  PublishQueue queue_;
  std::deque<Publication> groups_;
  SequenceNumber last_ = 0;
};

TEST_F(PublishQueueTest, WhoIsAloneIsVisibleAtOnce) {
  for (SequenceNumber i = 1; i <= 1000; i++) {  // several times around the ring
    ASSERT_TRUE(queue_.Publish(Enter()));
    ASSERT_EQ(queue_.visible_sequence(), i);
  }
}

TEST_F(PublishQueueTest, WhatIsInsertedFirstWaitsForWhatIsBeforeIt) {
  Publication* const first = Enter();
  Publication* const second = Enter();
  Publication* const third = Enter();
  bool visible[2] = {false, false};
  std::thread third_writer = Publish(third, &visible[1]);
  std::thread second_writer = Publish(second, &visible[0]);
  std::this_thread::yield();
  EXPECT_EQ(queue_.visible_sequence(), 0u);
  EXPECT_TRUE(queue_.Publish(first));
  second_writer.join();
  third_writer.join();
  EXPECT_TRUE(visible[0]);
  EXPECT_TRUE(visible[1]);
  EXPECT_EQ(queue_.visible_sequence(), 3u);
  EXPECT_TRUE(queue_.Publish(Enter()));
  EXPECT_EQ(queue_.visible_sequence(), 4u);
}

TEST_F(PublishQueueTest, NothingBehindAFailedGroupBecomesVisible) {
  EXPECT_TRUE(queue_.Publish(Enter()));
  Publication* const failing = Enter();
  bool visible = true;
  std::thread waiting = Publish(Enter(), &visible);
  {
    PublishScope scope(&queue_, failing);  // ends without Publish
  }
  waiting.join();
  EXPECT_FALSE(visible);
  EXPECT_FALSE(queue_.Publish(Enter())) << "nor what comes later";
  EXPECT_EQ(queue_.visible_sequence(), 1u);
  ExclusiveStretch leads;
  queue_.AwaitAll();  // which would hang if somebody had not left
}

TEST_F(PublishQueueTest, ManyGroupsAtATimeAreTakenAtTheirLeadersPace) {
  // One that does not end, and behind it more than there are places.
  constexpr size_t kMany = 300;
  constexpr size_t kSurelyTaken = 250;
  std::vector<std::thread> writers;
  std::unique_ptr<bool[]> visible = std::make_unique<bool[]>(kMany);
  Publication* const first = Enter();
  std::atomic<size_t> entered{0};
  std::thread leader([&] {
    for (size_t i = 0; i < kMany; i++) {
      writers.push_back(Publish(Enter(), &visible[i]));
      entered.store(i + 1);
    }
  });
  while (entered.load() < kSurelyTaken) std::this_thread::yield();
  EXPECT_EQ(queue_.visible_sequence(), 0u);
  EXPECT_TRUE(queue_.Publish(first));
  leader.join();
  for (std::thread& writer : writers) writer.join();
  for (size_t i = 0; i < kMany; i++) EXPECT_TRUE(visible[i]) << i;
  EXPECT_EQ(queue_.visible_sequence(), kMany + 1);
}

}  // namespace
}  // namespace winnow
