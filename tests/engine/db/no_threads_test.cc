// A process that gets no thread from the system: opening is refused, and what is open goes on with
// the threads that it has.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/child_process.h"
#include "tests/support/db_fixture.h"
#include "tests/support/table_threads.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// While it lives no thread can be started.
class NoThreadToBeHad {
 public:
  NoThreadToBeHad() {
    EXPECT_EQ(getrlimit(RLIMIT_NPROC, &before_), 0);
    const rlimit none = {0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
  }
  ~NoThreadToBeHad() { EXPECT_EQ(setrlimit(RLIMIT_NPROC, &before_), 0); }

 private:
  rlimit before_{};
};

class NoThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user whose threads are counted";
    options_.file_system = &file_system_;
    options_.compression = Compression::kNone;
    options_.disable_auto_compactions = true;
    options_.background_threads = 4;
  }

  // In a child, as a user without privileges.
  template <typename Body>
  void RunAsNobody(const Body& body) {
    EXPECT_EQ(InChild([&] {
                EXPECT_TRUE(::setgid(65534) == 0 && ::setuid(65534) == 0);
                body();
                return HasFailure() ? 1 : 0;
              }),
              0);
  }

  // Four tables of level 0, each over the whole range, of 64 MiB together.
  void FillLevelZero(DB& db) {
    for (int table = 0; table < 4; table++) {
      for (int i = table; i < 4096; i += 4) {
        const absl::Status put = db.Put({}, absl::StrCat(1000 + i), std::string(16 << 10, 'v'));
        ASSERT_TRUE(put.ok()) << put;
      }
      ASSERT_EQ(db.Flush(), absl::OkStatus());
    }
  }

  const std::unique_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  TableThreads file_system_{memory_.get()};
  Options options_;
};

TEST_F(NoThreads, OpeningIsRefusedAndWorksOnceThereAreSome) {
  RunAsNobody([&] {
    for (const char* key : {"first", "second"}) {
      {
        const NoThreadToBeHad none;
        const absl::Status refused = DB::Open(options_, "/db").status();
        EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
      }
      const auto db = OpenOrFail(options_, "/db");
      ASSERT_NE(db, nullptr);
      EXPECT_TRUE(db->Put({}, key, "value").ok());
      EXPECT_EQ(db->Close(), absl::OkStatus());
    }
    const auto db = OpenOrFail(options_, "/db");
    std::string value;
    EXPECT_TRUE(db->Get({}, "first", &value).ok());
  });
}

TEST_F(NoThreads, ACompactionIsDoneByTheThreadThatBeganIt) {
  RunAsNobody([&] {
    const auto db = OpenOrFail(options_, "/db");
    ASSERT_NE(db, nullptr);
    FillLevelZero(*db);
    file_system_.Forget();
    {
      const NoThreadToBeHad none;
      const absl::Status compacted = db->CompactRange(std::nullopt, std::nullopt);
      EXPECT_TRUE(compacted.ok()) << compacted;
      EXPECT_EQ(file_system_.num_threads(), 1u);
    }
    int entries = 0;
    const auto iterator = db->NewIterator({});
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) entries++;
    EXPECT_EQ(entries, 4096);
    // Otherwise several do.
    FillLevelZero(*db);
    file_system_.Forget();
    EXPECT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
    EXPECT_GT(file_system_.num_threads(), 1u);
  });
}

TEST_F(NoThreads, MoreBackgroundThreadsAreRefusedAndNothingChanges) {
  RunAsNobody([&] {
    const auto db = OpenOrFail(options_, "/db");
    ASSERT_NE(db, nullptr);
    {
      const NoThreadToBeHad none;
      const absl::Status refused = db->SetOption("background_threads", "8");
      EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
      EXPECT_EQ(db->GetOption("background_threads").value(), "4");
      EXPECT_TRUE(db->Put({}, "key", "value").ok());
      EXPECT_EQ(db->Flush(), absl::OkStatus());
      EXPECT_TRUE(db->SetOption("background_threads", "2").ok());
    }
    EXPECT_TRUE(db->SetOption("background_threads", "8").ok());
    Options recorded = options_;
    EXPECT_EQ(db->Close(), absl::OkStatus());
    EXPECT_TRUE(DB::LoadOptions("/db", &recorded).ok());
    EXPECT_EQ(recorded.background_threads, 8);
  });
}

}  // namespace
}  // namespace winnow
