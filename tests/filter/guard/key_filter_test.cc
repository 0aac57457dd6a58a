#include "winnow/guard/key_filter.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

std::unique_ptr<KeyFilter> NewFilter(uint64_t capacity) {
  auto filter = NewBloomKeyFilter(capacity, 0.001);
  EXPECT_TRUE(filter.ok());
  return *std::move(filter);
}

TEST(KeyFilterTest, ForgetsDeletedRowsWhenRebuilt) {
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  ASSERT_TRUE(filter->Add("kept").ok());
  ASSERT_TRUE(filter->Add("deleted").ok());
  ASSERT_TRUE(filter->Rebuild(NewFilter(1000), [](const auto& add) { return add("kept"); }).ok());
  EXPECT_TRUE(filter->MayContain("kept"));
  EXPECT_FALSE(filter->MayContain("deleted"));
}

TEST(KeyFilterTest, ARebuildThatFailsChangesNothing) {
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  ASSERT_TRUE(filter->Add("a").ok());
  const absl::Status status = filter->Rebuild(
      NewFilter(1000), [](const auto&) { return absl::UnavailableError("no database"); });
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_TRUE(filter->MayContain("a"));
  EXPECT_TRUE(filter->Rebuild(NewFilter(1000), [](const auto&) { return absl::OkStatus(); }).ok());
}

TEST(KeyFilterTest, OneRebuildAtATime) {
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  const absl::Status status = filter->Rebuild(NewFilter(1000), [&](const auto&) {
    EXPECT_TRUE(absl::IsFailedPrecondition(
        filter->Rebuild(NewFilter(1000), [](const auto&) { return absl::OkStatus(); })));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
}

// Added before the rebuild began, committed after the scan has passed: writing to both filters does
// not help this row, only that its insertion has not ended.
TEST(KeyFilterTest, ARowThatIsCommittedBehindTheScanIsNotLost) {
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  ASSERT_TRUE(filter->BeginInsert("late").ok());
  ASSERT_TRUE(filter->Rebuild(NewFilter(1000), [](const auto&) { return absl::OkStatus(); }).ok());
  filter->EndInsert("late");
  EXPECT_TRUE(filter->MayContain("late"));
}

TEST(KeyFilterTest, NoRowIsMissedWhileWritersAndRebuildsGoOn) {
  constexpr int kWriters = 4;
  constexpr int kRowsOfWriter = 50'000;  // 10^6 questions: each row is asked for five times
  const auto filter = NewRebuildableFilter(NewFilter(kWriters * kRowsOfWriter));
  std::mutex mutex;
  std::set<std::string> rows;
  std::atomic<int> num_missing{0};
  std::atomic<int> num_running{kWriters};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      FixedRandom random;
      for (int i = 0; i < kRowsOfWriter; ++i) {
        const auto name = [writer](uint64_t row) { return absl::StrCat(writer, ":", row); };
        const std::string key = name(static_cast<uint64_t>(i));
        if (!filter->BeginInsert(key).ok()) ++num_missing;
        if (i % 64 == 0) std::this_thread::yield();
        {
          const std::scoped_lock lock(mutex);
          rows.insert(key);
        }
        filter->EndInsert(key);
        for (int asked = 0; asked < 5; ++asked) {
          if (!filter->MayContain(name(random.Next() % static_cast<uint64_t>(i + 1))))
            ++num_missing;
        }
      }
      --num_running;
    });
  }
  int num_rebuilds = 0;
  while (num_running != 0) {
    const absl::Status status =
        filter->Rebuild(NewFilter(kWriters * kRowsOfWriter), [&](const auto& add) {
          std::vector<std::string> committed;
          {
            const std::scoped_lock lock(mutex);
            committed.assign(rows.begin(), rows.end());
          }
          for (const std::string& key : committed) {
            if (const absl::Status added = add(key); !added.ok()) return added;
          }
          return absl::OkStatus();
        });
    ASSERT_TRUE(status.ok());
    ++num_rebuilds;
  }
  for (std::thread& writer : writers) writer.join();
  for (const std::string& key : rows) {
    if (!filter->MayContain(key)) ++num_missing;
  }
  EXPECT_EQ(num_missing, 0);
  EXPECT_GE(num_rebuilds, 1);
}

}  // namespace
}  // namespace winnow::guard
