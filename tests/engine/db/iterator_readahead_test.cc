// What iterators read ahead: nothing at first, and pieces that double while the scan goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "engine/file_system/forwarding_file_system.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// Notes how much each read of a table has asked for, and what the system was asked to fetch. For
// one thread.
class ReadSizes final : public ForwardingFileSystem {
 public:
  struct Piece {
    uint64_t offset;
    size_t length;
    size_t reads_before;  // by then
  };

  explicit ReadSizes(FileSystem* target) : ForwardingFileSystem(target) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    WINNOW_ASSIGN_OR_RETURN(auto file, ForwardingFileSystem::OpenRandomAccess(path));
    if (!path.ends_with(".sst")) return file;
    return std::make_unique<File>(std::move(file), this);
  }

  std::vector<size_t> Take() { return std::exchange(sizes_, {}); }
  std::vector<Piece> TakePrefetched() { return std::exchange(prefetched_, {}); }

 private:
  class File final : public RandomAccessFile {
   public:
    File(std::unique_ptr<RandomAccessFile> file, ReadSizes* notes)
        : file_(std::move(file)), notes_(*notes) {}
    absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
      notes_.sizes_.push_back(length);
      return file_->Read(offset, length, buffer);
    }
    void Prefetch(uint64_t offset, size_t length) const override {
      notes_.prefetched_.push_back({offset, length, notes_.sizes_.size()});
    }
    uint64_t size() const override { return file_->size(); }

   private:
    const std::unique_ptr<RandomAccessFile> file_;
    ReadSizes& notes_;
  };

  std::vector<size_t> sizes_;
  std::vector<Piece> prefetched_;
};

class IteratorReadahead : public testing::Test {
 protected:
  static constexpr int kKeys = 2000;
  static constexpr size_t kFirstPiece = 16 << 10;
  static constexpr size_t kLargestPiece = 256 << 10;

  IteratorReadahead() {
    Options options = MemoryDb::Quiet();
    options.file_system = &file_system_;
    options.block_cache_bytes = 0;
    db_ = OpenOrFail(options, "/db");
    std::mt19937_64 random(1);
    for (int i = 0; i < kKeys; i++) {
      std::string value(1000, '\0');
      for (char& c : value) c = static_cast<char>(random());
      EXPECT_TRUE(db_->Put(WriteOptions(), KeyAt(i), value).ok());
    }
    EXPECT_TRUE(db_->Flush().ok());
    iterator_ = db_->NewIterator(ReadOptions());
    file_system_.Take();
  }
  ~IteratorReadahead() override { iterator_.reset(); }

  static std::string KeyAt(int i) { return absl::StrFormat("key%06d", i); }

  // Blocks of a few keys each at first, then pieces of twice the size each time.
  static void ExpectPiecesThatDouble(const std::vector<size_t>& sizes) {
    const auto piece =
        std::find_if(sizes.begin(), sizes.end(), [](size_t size) { return size >= kFirstPiece; });
    ASSERT_NE(piece, sizes.end());
    EXPECT_GE(piece - sizes.begin(), 2) << "one block or two are no scan yet";
    EXPECT_LE(piece - sizes.begin(), 3);
    size_t expected = kFirstPiece;
    for (auto size = piece; size + 1 < sizes.end(); ++size) {  // the last ends with the table
      EXPECT_EQ(*size, expected);
      expected = std::min(2 * expected, kLargestPiece);
    }
    EXPECT_EQ(expected, kLargestPiece);
  }

  const std::unique_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  ReadSizes file_system_{memory_.get()};
  std::unique_ptr<DB> db_;
  std::unique_ptr<Iterator> iterator_;
};

TEST_F(IteratorReadahead, GrowsWithSequentialUse) {
  int count = 0;
  for (iterator_->SeekToFirst(); iterator_->Valid(); iterator_->Next()) count++;
  EXPECT_EQ(count, kKeys);
  const std::vector<size_t> sizes = file_system_.Take();
  ExpectPiecesThatDouble(sizes);
  EXPECT_LT(sizes.size(), 20u) << "for two megabytes";
}

TEST_F(IteratorReadahead, GrowsBackwardAsWell) {
  int count = 0;
  for (iterator_->SeekToLast(); iterator_->Valid(); iterator_->Prev()) count++;
  EXPECT_EQ(count, kKeys);
  ExpectPiecesThatDouble(file_system_.Take());
}

// Of a long scan the system fetches each piece while the one before it is used: what is asked for
// is what is read next, nothing between.
TEST_F(IteratorReadahead, TheNextPieceIsFetchedMeanwhile) {
  for (iterator_->SeekToFirst(); iterator_->Valid(); iterator_->Next()) continue;
  const std::vector<size_t> sizes = file_system_.Take();
  const std::vector<ReadSizes::Piece> prefetched = file_system_.TakePrefetched();
  ASSERT_GT(prefetched.size(), 4u);
  for (size_t i = 0; i < prefetched.size(); i++) {
    const ReadSizes::Piece& piece = prefetched[i];
    EXPECT_GE(sizes[piece.reads_before - 1], kLargestPiece) << "as large as the piece before it";
    ASSERT_LT(piece.reads_before, sizes.size()) << "it is read";
    // But for the block that lies across the border, which is read again.
    EXPECT_NEAR(static_cast<double>(sizes[piece.reads_before]), static_cast<double>(piece.length),
                i + 1 < prefetched.size() ? 0 : 8 << 10);
    EXPECT_LE(piece.length, kLargestPiece);
  }
}

TEST_F(IteratorReadahead, NothingIsFetchedForScansThatMayEnd) {
  iterator_->Seek(KeyAt(500));
  for (int i = 0; i < 100; i++) iterator_->Next();
  for (iterator_->SeekToLast(); iterator_->Valid(); iterator_->Prev()) continue;
  EXPECT_TRUE(file_system_.TakePrefetched().empty());
}

TEST_F(IteratorReadahead, AShortScanReadsLittleTooMuch) {
  iterator_->Seek(KeyAt(500));
  for (int i = 0; i < 30; i++) iterator_->Next();
  ASSERT_TRUE(iterator_->Valid());
  const std::vector<size_t> sizes = file_system_.Take();
  EXPECT_LE(std::accumulate(sizes.begin(), sizes.end(), size_t{0}), size_t{100} << 10);
}

TEST_F(IteratorReadahead, SeeksToAndFroReadNothingAhead) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; i++) {
    iterator_->Seek(KeyAt(static_cast<int>(random() % kKeys)));
    ASSERT_TRUE(iterator_->Valid());
  }
  for (const size_t size : file_system_.Take()) EXPECT_LT(size, kFirstPiece);
}

TEST_F(IteratorReadahead, BeginsAnewWhereAScanDoes) {
  const auto scan_from = [this](int first) {
    iterator_->Seek(KeyAt(first));
    for (int i = 0; i < 900 && iterator_->Valid(); i++) iterator_->Next();
    return file_system_.Take();
  };
  const std::vector<size_t> first = scan_from(1000);
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(*std::max_element(first.begin(), first.end()), kLargestPiece);
  const std::vector<size_t> second = scan_from(0);
  ASSERT_GE(second.size(), 2u);
  EXPECT_LT(second[0], kFirstPiece);
  EXPECT_LE(second[1], kFirstPiece);
}

}  // namespace
}  // namespace winnow
