// Bounds how many SSTables have their file open: a process has a limit of descriptors.
#ifndef WINNOW_ENGINE_SSTABLE_OPEN_FILE_CACHE_H_
#define WINNOW_ENGINE_SSTABLE_OPEN_FILE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/file_system/shared_path.h"
#include "filter/base/mutex.h"
#include "winnow/file_system.h"

namespace winnow {

// Thread-safe. Only files are closed, those that were read longest ago first (CLOCK); what a reader
// has in memory of its table stays. A read that finds its file open writes nothing that other
// threads read, but for the mark that the file was read, which it sets once for each turn of the
// clock.
//
// Tables are not mapped for it, though mappings need no descriptors: a table that is cut short, or
// a disk that fails, would then end the process (SIGBUS) instead of the read. Who maps them all the
// same (Options::mmap_reads) needs their descriptors for compactions only.
class OpenFileCache {
 public:
  // Who else may remove files that are in use here.
  enum class Owner {
    kAlone,         // nobody: a file that is gone is damage
    kBesideWriter,  // a process that writes the database, which has no use for them any more
  };

  // Besides `limit` files, those stay open that a thread is in the middle of reading: one for each,
  // and for batches, which read several at once, a fourth of the limit in all.
  explicit OpenFileCache(size_t limit, Owner owner = Owner::kAlone)
      : owner_(owner), limit_(limit) {}

  // The cache and `file_system` must outlive the file. The first opening checks nothing. A read
  // that has to open the file again fails with DataLoss if it is gone (beside a writer: Aborted),
  // has another size, or is not the table `file_id` (0: any), and with the file system's error if
  // it cannot be opened now.
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(FileSystem* file_system,
                                                         const SharedPath& path, uint64_t file_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Closes some of the coldest files, but not the last few, for one of another kind that the
  // process has no descriptor for. False if none came free.
  bool GiveUpSome() ABSL_LOCKS_EXCLUDED(mutex_);

  // Another limit; what is open above it is closed at once, but for what is being read.
  void SetLimit(size_t limit) ABSL_LOCKS_EXCLUDED(mutex_);

  // Files open now, those being read after they were to be closed included.
  size_t num_open() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class File;
  class Held;
  class Opening;
  using Opened = std::shared_ptr<const RandomAccessFile>;
  struct OpenFile {
    const File* file;
    Opened opened;
  };

  absl::StatusOr<Opened> OpenWithinLimit(FileSystem* file_system, const std::string& path)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The file's, opened if it is not.
  absl::StatusOr<Opened> Reopen(const File& file) ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes the coldest files, at least `least` of them, until those that are being opened have
  // room. False if no descriptor came free.
  bool MakeRoom(size_t least) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same until a descriptor came free, `at_once` files at a time, as long as more than `kept`
  // are open.
  bool FreeDescriptors(size_t at_once, size_t kept) ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(const File& file, Opened opened) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Threads may still be reading from what it returns.
  Opened Remove(size_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its place; there is one.
  size_t Coldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Owner owner_;
  mutable Mutex mutex_;
  // The clock's face, and where its hand goes on. A file knows its place; the last one takes the
  // place of one that is closed.
  std::deque<OpenFile> open_ ABSL_GUARDED_BY(mutex_);
  size_t hand_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t limit_ ABSL_GUARDED_BY(mutex_);
  size_t being_opened_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_held_ ABSL_GUARDED_BY(mutex_) = 0;  // for batches, those in open_ included
  // Taken from open_ while threads read from them: one for each thread at most.
  std::vector<Opened> removed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_OPEN_FILE_CACHE_H_
