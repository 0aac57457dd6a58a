// Filters on Redis when the system has no memory to give: each request for memory fails once, in
// turn, and is an error or "maybe" of that call alone.

#include <gtest/gtest.h>

#include <utility>

#include "tests/filter/redis/redis_server.h"
#include "tests/support/fail_each_allocation.h"
#include "winnow/filter/redis/bit_sets.h"
#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

class RedisMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    server_ = std::make_unique<RedisServer>();
    client_ = server_->NewClient();
    auto filter = BitmapFilter::Open(client_.get(), std::string(40, 'f'));
    ASSERT_TRUE(filter.ok());
    filter_ = *std::move(filter);
    ASSERT_TRUE(filter_->Create(*RedissonShape(1000, 0.001)).ok());
    ASSERT_TRUE(filter_->Add(keys_).ok());
  }

  template <typename Call>
  static void FailEach(Call call) {
    FailEachAllocation(std::move(call), [](const absl::Status&) {});
  }

  const std::string there_ = std::string(100, 't');
  const std::string absent_ = std::string(100, 'a');
  const std::vector<std::string_view> keys_ = {there_};
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<BitmapFilter> filter_;
};

TEST_F(RedisMemoryTest, EachCallFailsAlone) {
  int num_no = 0;
  int num_maybe = 0;
  FailEach([&] {
    EXPECT_TRUE(filter_->MayContain(there_));
    ++(filter_->MayContain(absent_) ? num_maybe : num_no);
    return absl::OkStatus();
  });
  EXPECT_GT(num_no, 0);
  EXPECT_GT(num_maybe, 0);
  const QueryCounts counts = filter_->counts();
  EXPECT_EQ(counts.no, static_cast<uint64_t>(num_no));
  EXPECT_EQ(counts.no + counts.found + counts.refused + counts.unreachable,
            2 * static_cast<uint64_t>(num_no + num_maybe));

  const std::vector<std::string_view> more = {absent_};
  FailEach([&] { return filter_->Add(more).status(); });
  FailEach([&]() -> absl::Status {
    absl::StatusOr<WriteIntent> intent = filter_->BeginWrite(more);
    return intent.ok() ? filter_->EndWrite(*std::move(intent)) : intent.status();
  });
  FailEach([&] { return filter_->GetInfo().status(); });
  FailEach([&] { return filter_->Download().status(); });
  FailEach([&]() -> absl::Status {
    auto rebuild =
        filter_->StartRebuild(*RedissonShape(1000, 0.001), {.lease = std::chrono::milliseconds(1)});
    // The one before, which was cut short, may have the lease still.
    if (!rebuild.ok())
      return absl::IsUnavailable(rebuild.status()) ? absl::OkStatus() : rebuild.status();
    const absl::Status added = (*rebuild)->Add(keys_);
    const absl::Status finished = added.ok() ? (*rebuild)->Finish() : added;
    return absl::IsAborted(finished) ? absl::OkStatus() : finished;
  });
  EXPECT_TRUE(filter_->MayContain(there_));
  EXPECT_TRUE(filter_->MayContain(absent_)) << "its note is open, or its row was committed";

  DenseIdSet ids(client_.get(), std::string(40, 'i'), 1000);
  FailEach([&] {
    const absl::Status created = ids.Create();
    return absl::IsAlreadyExists(created) ? absl::OkStatus() : created;
  });
  const std::vector<uint64_t> id = {17};
  FailEach([&] { return ids.Add(id).status(); });
  FailEach([&] {
    EXPECT_TRUE(ids.MayContain(17));
    return absl::OkStatus();
  });
  SignInCalendar calendar(client_.get(), std::string(40, 'c'));
  FailEach([&] { return calendar.SignIn(there_, 2026, 2, 28).status(); });
  FailEach([&] { return calendar.Month(there_, 2026, 2).status(); });
  // Connections that were cut short were given back: the client has as many as ever.
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(filter_->MayContain(there_));
  EXPECT_FALSE(ids.MayContain(18));
}

TEST_F(RedisMemoryTest, AClientOrAFilterIsMadeOrNot) {
  const std::string url = server_->url();
  FailEach([&] { return Client::Open(url).status(); });
  const std::string name(40, 'f');
  FailEach([&] { return BitmapFilter::Open(client_.get(), name).status(); });
}

TEST_F(RedisMemoryTest, AnErrorOfTheServerIsToldOrNot) {
  Request request;
  request.Command({"NOSUCHCOMMAND"});
  FailEach([&] {
    const absl::Status status = client_->ExecuteOne("", request).status();
    return absl::IsUnimplemented(status) ? absl::OkStatus() : status;
  });
}

}  // namespace
}  // namespace winnow::filter::redis
