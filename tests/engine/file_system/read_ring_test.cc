// ReadRings: what is read by io_uring is what the file has, and what is not is left to pread(2).
#include "engine/file_system/read_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/open_rings.h"

namespace winnow {
namespace {

// A file without a name whose bytes tell where they are.
class ReadRing : public testing::Test {
 protected:
  static constexpr size_t kFileBytes = 1 << 20;

  ReadRing() {
    std::string name = testing::TempDir() + "read_ring_XXXXXX";
    descriptor_ = mkstemp(name.data());
    unlink(name.c_str());
    contents_.resize(kFileBytes);
    std::mt19937_64 random(7);
    for (char& c : contents_) c = static_cast<char>(random());
    EXPECT_EQ(write(descriptor_, contents_.data(), kFileBytes), ssize_t{kFileBytes});
  }
  ~ReadRing() override { close(descriptor_); }

  int descriptor_ = -1;
  std::string contents_;
};

struct Batch {
  explicit Batch(size_t size) : reads(size), buffers(size) {}
  void Set(size_t i, int descriptor, uint64_t offset, size_t length) {
    buffers[i].assign(length, '\x5a');
    reads[i] = {descriptor, offset, static_cast<uint32_t>(length), buffers[i].data(), false};
  }
  std::vector<RingRead> reads;
  std::vector<std::string> buffers;
};

TEST_F(ReadRing, ManyPlacesAreReadAtOnceAgainAndAgain) {
  ReadRings rings;
  EXPECT_EQ(OpenRings(), 0u) << "none before it is needed";
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; round++) {
    Batch batch(1 + random() % ReadRings::kMostReads);
    for (size_t i = 0; i < batch.reads.size(); i++) {
      batch.Set(i, descriptor_, random() % (kFileBytes - 20'000), 1 + random() % 20'000);
      batch.reads[i].is_whole = true;  // of an earlier call
    }
    if (!rings.Read(batch.reads)) GTEST_SKIP() << "io_uring is not to be had here";
    for (size_t i = 0; i < batch.reads.size(); i++) {
      const RingRead& read = batch.reads[i];
      ASSERT_TRUE(read.is_whole);
      ASSERT_EQ(batch.buffers[i], contents_.substr(read.offset, read.length));
    }
  }
  EXPECT_EQ(OpenRings(), 1u);
}

TEST_F(ReadRing, WhatCannotBeReadWholeIsNot) {
  std::array<int, 2> pipe_ends;
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  ReadRings rings;
  {
    Batch first(1);
    first.Set(0, descriptor_, 0, 10);
    if (!rings.Read(first.reads)) GTEST_SKIP() << "io_uring is not to be had here";
  }
  const int closed = dup(descriptor_);  // a number that nothing takes meanwhile
  close(closed);
  Batch batch(7);
  batch.Set(0, descriptor_, 100, 50);
  batch.Set(1, descriptor_, kFileBytes - 10, 50);  // runs over the end
  batch.Set(2, descriptor_, kFileBytes + 10, 50);
  batch.Set(3, closed, 0, 50);
  batch.Set(4, -1, 0, 50);
  batch.Set(5, pipe_ends[1], 0, 50);  // open for writing alone
  batch.Set(6, descriptor_, 200, 50);
  ASSERT_TRUE(rings.Read(batch.reads));
  const std::vector<bool> wanted = {true, false, false, false, false, false, true};
  for (size_t i = 0; i < wanted.size(); i++) EXPECT_EQ(batch.reads[i].is_whole, wanted[i]) << i;
  EXPECT_EQ(batch.buffers[0], contents_.substr(100, 50));
  EXPECT_EQ(batch.buffers[6], contents_.substr(200, 50));
  EXPECT_FALSE(rings.is_refused()) << "the next ones are read all the same";
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(ReadRing, ThreadsHaveRingsOfTheirOwnOrNone) {
  ReadRings rings;
  {
    Batch first(2);
    first.Set(0, descriptor_, 0, 10);
    first.Set(1, descriptor_, 10, 10);
    if (!rings.Read(first.reads)) GTEST_SKIP() << "io_uring is not to be had here";
  }
  std::atomic<int> read{0};
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 16; seed++) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      for (int round = 0; round < 200; round++) {
        Batch batch(8);
        for (size_t i = 0; i < 8; i++) batch.Set(i, descriptor_, random() % 1'000'000, 4'000);
        if (!rings.Read(batch.reads)) continue;  // all are in use
        read++;
        for (size_t i = 0; i < 8; i++) {
          ASSERT_TRUE(batch.reads[i].is_whole);
          ASSERT_EQ(batch.buffers[i], contents_.substr(batch.reads[i].offset, 4'000));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(read, 0);
  EXPECT_LE(OpenRings(), ReadRings::kMostRings);
}

TEST_F(ReadRing, ADescriptorThatIsWantingNowMayBeThereLater) {
  ReadRings rings;
  Batch batch(2);
  batch.Set(0, descriptor_, 0, 10);
  batch.Set(1, descriptor_, 10, 10);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = dup(descriptor_);
  close(lowest_free);
  const rlimit none = {static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool was_read = rings.Read(batch.reads);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(was_read);
  EXPECT_EQ(OpenRings(), 0u);
  if (rings.is_refused()) GTEST_SKIP() << "io_uring is not to be had here";
  EXPECT_TRUE(rings.Read(batch.reads));
  EXPECT_EQ(batch.buffers[1], contents_.substr(10, 10));
}

// As a container does, for the rest of the process's life.
bool ForbidRings() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(ReadRing, WhereItIsForbiddenNobodyAsksTwice) {
  enum { kRight, kWrong, kCannotForbid };
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidRings()) _exit(kCannotForbid);
    ReadRings rings;
    Batch batch(2);
    batch.Set(0, descriptor_, 0, 10);
    batch.Set(1, descriptor_, 10, 10);
    bool right = !rings.Read(batch.reads) && rings.is_refused() && !rings.Read(batch.reads);
    for (const RingRead& read : batch.reads) right = right && !read.is_whole;
    _exit(right ? kRight : kWrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotForbid) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(WEXITSTATUS(status), kRight);
}

}  // namespace
}  // namespace winnow
