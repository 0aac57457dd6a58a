// Tables go to the disk while they are written, so that their sync is short. The call that asks for
// it is replaced in this program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "winnow/file_system.h"

namespace {

struct Piece {
  off_t offset;
  off_t length;
  unsigned flags;
};
std::vector<Piece> pieces;
int failure = 0;  // errno of each call; 0: it succeeds

}  // namespace

extern "C" int sync_file_range(int descriptor, off_t offset, off_t length, unsigned flags) {
  pieces.push_back({offset, length, flags});
  if (failure == 0) {
    return static_cast<int>(syscall(SYS_sync_file_range, descriptor, offset, length, flags));
  }
  errno = failure;
  return -1;
}

namespace winnow {
namespace {

using Mode = WritableFileOptions::Mode;
constexpr off_t kMebibyte = off_t{1} << 20;

class PosixWriteBack : public testing::Test {
 protected:
  PosixWriteBack() {
    std::string pattern = testing::TempDir() + "/write_back_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    pieces.clear();
    failure = 0;
  }
  ~PosixWriteBack() override { std::filesystem::remove_all(directory_); }

  // Ten pieces of a mebibyte in appends of many sizes, and no sync.
  absl::Status WriteTenMebibytes(WritableFile* file) {
    for (size_t size = 1; file->size() < 10 * kMebibyte; size = size % 50'000 + 777) {
      const absl::Status status =
          file->Append(std::string(size, static_cast<char>('a' + size % 26)));
      if (!status.ok()) return status;
      expected_.append(size, static_cast<char>('a' + size % 26));
    }
    return absl::OkStatus();
  }
  std::string path() const { return directory_ + "/file"; }

  FileSystem& posix_ = *PosixFileSystem();
  std::string directory_;
  std::string expected_;
};

TEST_F(PosixWriteBack, ATableIsWrittenInWholePagesOnceAndInOrder) {
  const auto file = posix_.Create(path(), {.mode = Mode::kBuffered}).value();
  ASSERT_TRUE(WriteTenMebibytes(file.get()).ok());
  off_t end = 0;
  for (const Piece& piece : pieces) {
    EXPECT_EQ(piece.offset, end);
    EXPECT_EQ(piece.length % ::sysconf(_SC_PAGESIZE), 0);
    EXPECT_GE(piece.length, kMebibyte);
    EXPECT_EQ(piece.flags, unsigned{SYNC_FILE_RANGE_WRITE})
        << "waiting would take the sync's error";
    end = piece.offset + piece.length;
  }
  EXPECT_LE(end, static_cast<off_t>(file->size()));
  EXPECT_GE(end, 8 * kMebibyte) << "the sync has little left to do";
  ASSERT_TRUE(file->Sync().ok() && file->Close().ok());
  EXPECT_TRUE(ReadFile(posix_, path(), 1 << 30).value() == expected_);
}

// Most logs are removed, once their memtable is flushed, before the system would write them.
TEST_F(PosixWriteBack, ALogIsNot) {
  const auto file = posix_.Create(path(), {.mode = Mode::kLog}).value();
  ASSERT_TRUE(WriteTenMebibytes(file.get()).ok());
  EXPECT_TRUE(pieces.empty());
}

TEST_F(PosixWriteBack, BytesThatTheDiskDidNotTakeAreAnError) {
  for (const auto& [error, code] : {std::pair{EIO, absl::StatusCode::kUnavailable},
                                    std::pair{ENOSPC, absl::StatusCode::kResourceExhausted},
                                    std::pair{EDQUOT, absl::StatusCode::kResourceExhausted}}) {
    failure = error;
    const auto file = posix_.Create(path(), {.mode = Mode::kBuffered}).value();
    EXPECT_EQ(WriteTenMebibytes(file.get()).code(), code);
    EXPECT_EQ(file->Append("x").code(), code);
    EXPECT_EQ(file->Sync().code(), code) << "a sync that succeeded would prove nothing";
  }
}

TEST_F(PosixWriteBack, WhereItCannotBeHadTheSyncDoesAll) {
  for (const int error : {ENOSYS, EINVAL, ESPIPE, EOPNOTSUPP, EINTR}) {
    failure = error;
    expected_.clear();
    const auto file = posix_.Create(path(), {.mode = Mode::kBuffered}).value();
    ASSERT_TRUE(WriteTenMebibytes(file.get()).ok());
    ASSERT_TRUE(file->Sync().ok() && file->Close().ok());
    EXPECT_TRUE(ReadFile(posix_, path(), 1 << 30).value() == expected_);
  }
}

}  // namespace
}  // namespace winnow
