#include "winnow/guard/key_filter.h"

#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
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

// Each of them is an error of that rebuild alone: the next one is not kept out.
TEST(KeyFilterTest, AScanThatThrowsEndsItsRebuild) {
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  ASSERT_TRUE(filter->Add("a").ok());
  const auto rebuild = [&](const RebuildableFilter::Scan& scan) {
    return filter->Rebuild(NewFilter(1000), scan);
  };
  const absl::Status thrown = rebuild([](const auto& add) -> absl::Status {
    EXPECT_TRUE(add("b").ok());
    throw std::runtime_error("the database is gone");
  });
  EXPECT_TRUE(absl::IsInternal(thrown));
  EXPECT_EQ(thrown.message(), "the scan threw: the database is gone");
  EXPECT_TRUE(absl::IsInternal(rebuild([](const auto&) -> absl::Status { throw 17; })));
  EXPECT_TRUE(absl::IsResourceExhausted(
      rebuild([](const auto&) -> absl::Status { throw std::bad_alloc(); })));
  EXPECT_TRUE(filter->MayContain("a"));
  EXPECT_FALSE(filter->MayContain("b"));
  EXPECT_TRUE(rebuild([](const auto& add) { return add("c"); }).ok());
  EXPECT_TRUE(filter->MayContain("c"));
}

// The next filter would deny a row that is there.
TEST(KeyFilterTest, ARebuildWhoseFilterLacksAKeyFailsWhoeverAddedIt) {
  class EmptyFilter final : public KeyFilter {
   public:
    bool MayContain(std::string_view) override { return false; }
    absl::Status Add(std::string_view key) override {
      return key == "lacked" ? absl::UnavailableError("no room") : absl::OkStatus();
    }
  };
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  EXPECT_TRUE(absl::IsUnavailable(filter->Rebuild(
      std::make_unique<EmptyFilter>(), [&](const auto&) { return filter->Add("lacked"); })));
  EXPECT_TRUE(filter->MayContain("lacked"));
  EXPECT_TRUE(
      absl::IsUnavailable(filter->Rebuild(std::make_unique<EmptyFilter>(), [&](const auto& add) {
        EXPECT_FALSE(add("lacked").ok());  // which the scan does not mind
        return absl::OkStatus();
      })));
  EXPECT_TRUE(filter->MayContain("lacked"));
  // What failed once is forgotten.
  EXPECT_TRUE(filter->Rebuild(NewFilter(1000), [](const auto& add) { return add("a"); }).ok());
  EXPECT_FALSE(filter->MayContain("lacked"));
}

// By the program's own filter, and whoever adds may not mind the exception.
TEST(KeyFilterTest, ARebuildWhoseFilterThrowsFailsAndNobodySeesTheException) {
  class ThrowingFilter final : public KeyFilter {
   public:
    bool MayContain(std::string_view) override { return false; }
    absl::Status Add(std::string_view) override { throw std::runtime_error("no connection"); }
  };
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  const absl::Status rebuilt =
      filter->Rebuild(std::make_unique<ThrowingFilter>(), [&](const auto&) {
        EXPECT_TRUE(filter->Add("a").ok());
        return absl::OkStatus();
      });
  EXPECT_EQ(rebuilt, absl::InternalError("the filter threw: no connection"));
  EXPECT_TRUE(filter->MayContain("a"));
  const auto throwing = NewRebuildableFilter(std::make_unique<ThrowingFilter>());
  EXPECT_TRUE(absl::IsInternal(throwing->BeginInsert("b")));
  // It left no insertion open.
  ASSERT_TRUE(
      throwing->Rebuild(NewFilter(1000), [](const auto&) { return absl::OkStatus(); }).ok());
  EXPECT_FALSE(throwing->MayContain("b"));
}

TEST(KeyFilterTest, NoFilterIsRefused) {
  EXPECT_EQ(NewRebuildableFilter(nullptr), nullptr);
  const auto filter = NewRebuildableFilter(NewFilter(1000));
  EXPECT_TRUE(
      absl::IsInvalidArgument(filter->Rebuild(nullptr, [](const auto& add) { return add("a"); })));
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
