#include "engine/sstable/open_file_cache.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/hazard_slot.h"
#include "engine/base/status.h"
#include "engine/sstable/format.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Given up at once for another kind of file: what begins a log, a table or a manifest opens more
// than one, the directory to sync among them.
constexpr size_t kGivenUpAtOnce = 4;
// Never given up: while writes are refused for want of descriptors, reads go on with these.
constexpr size_t kKeptForReads = 4;

// "Not found" would be taken for the answer of a look-up.
absl::Status GoneError(const std::string& path, OpenFileCache::Owner owner) {
  if (owner == OpenFileCache::Owner::kAlone) {
    return CorruptionError(path, "is gone since it was first opened");
  }
  return absl::AbortedError(absl::StrCat(
      path,
      ": has been removed by the process that writes this database; open it again to read "
      "its present state, with a larger max_open_files (or limit of open files, ulimit -n) "
      "to keep reading one state"));
}

// Between two openings another table may have been put in this one's place. The size costs no read,
// and the footer one: it names the file's identity, and its checksum covers it.
absl::Status CheckIdentity(const RandomAccessFile& file, const std::string& path,
                           uint64_t file_bytes, uint64_t file_id) {
  if (file.size() != file_bytes) {
    return CorruptionError(path, absl::StrCat("has ", file.size(), " bytes, and had ", file_bytes,
                                              " when it was first opened"));
  }
  if (file_id == 0 || file_bytes < kFooterBytes) return absl::OkStatus();
  char bytes[kFooterBytes];
  WINNOW_ASSIGN_OR_RETURN(const size_t read,
                          file.Read(file.size() - kFooterBytes, kFooterBytes, bytes));
  WINNOW_ASSIGN_OR_RETURN(const Footer footer,
                          Footer::Decode(std::string_view(bytes, read), file.size(), path));
  if (footer.file_id == file_id) return absl::OkStatus();
  return CorruptionError(path, file.size() - kFooterBytes,
                         "footer: this is another file than the one that was first opened");
}

}  // namespace

// A table's file, open or closed.
class OpenFileCache::File final : public RandomAccessFile {
 public:
  File(OpenFileCache* cache, FileSystem* file_system, const SharedPath& path, uint64_t file_id,
       uint64_t size)
      : cache_(cache), file_system_(file_system), path_(path), file_id_(file_id), size_(size) {}

  // No thread reads it any more, so that nothing has to be looked for.
  ~File() override {
    // Before the lock, so that close(2) comes after it.
    Opened closed;
    MutexLock lock(&cache_->mutex_);
    if (place_ != kNowhere) closed = cache_->Remove(place_);
  }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    HazardGuard guard(HazardSlot::kOpenFile);
    // The place is taken where a file system reads tables to read this one.
    const RandomAccessFile* file = guard.is_free() ? guard.Announce(present_) : nullptr;
    Opened held;
    // Closed, or not to be announced: then the file is shared with this read, and stays open for
    // it.
    if (file == nullptr) [[unlikely]] {
      WINNOW_ASSIGN_OR_RETURN(held, cache_->Reopen(*this));
      file = held.get();
    }
    NoteRead();
    return file->Read(offset, length, buffer);
  }

  int Descriptor(std::shared_ptr<const void>* holder) const override;

  uint64_t size() const override { return size_; }

  // Not worth opening the file for.
  void Prefetch(uint64_t offset, size_t length) const override {
    HazardGuard guard(HazardSlot::kOpenFile);
    const RandomAccessFile* file = guard.is_free() ? guard.Announce(present_) : nullptr;
    if (file != nullptr) file->Prefetch(offset, length);
  }

  // A mapping needs no descriptor: the file is closed in its turn all the same.
  std::unique_ptr<FileMapping> Map() const override {
    const absl::StatusOr<Opened> opened = cache_->Reopen(*this);
    return opened.ok() ? (*opened)->Map() : nullptr;
  }

 private:
  friend class OpenFileCache;

  // Looked at before it is set: all who read the file share the line, and mostly find it set.
  void NoteRead() const {
    if (was_read_.load(std::memory_order_relaxed)) return;
    was_read_.store(true, std::memory_order_relaxed);
  }

  static constexpr size_t kNowhere = SIZE_MAX;

  OpenFileCache* const cache_;
  FileSystem* const file_system_;
  const SharedPath path_;
  const uint64_t file_id_;
  const uint64_t size_;
  mutable std::atomic<const RandomAccessFile*> present_{nullptr};  // null: closed
  mutable std::atomic<bool> was_read_{false};                      // since the hand passed
  // In the cache's open_, and changed with it; nowhere: closed.
  mutable std::atomic<size_t> place_{kNowhere};
};

// A file that is kept open for a batch of reads.
class OpenFileCache::Held {
 public:
  explicit Held(OpenFileCache* cache) : cache_(cache) {}
  ~Held() {
    if (file_ == nullptr) return;
    // The file may be closed with that; not under the lock.
    const Opened file = std::move(file_);
    MutexLock lock(&cache_->mutex_);
    cache_->num_held_--;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  // False: it is closed now, or too many are held.
  bool Take(const File& file) {
    MutexLock lock(&cache_->mutex_);
    if (file.place_ == File::kNowhere || cache_->num_held_ >= cache_->limit_ / 4) return false;
    cache_->num_held_++;
    file_ = cache_->open_[file.place_].opened;
    return true;
  }
  const RandomAccessFile& file() const { return *file_; }

  std::shared_ptr<const void> holder;  // of what is below the file

 private:
  OpenFileCache* const cache_;
  Opened file_;
};

// Held by the lock and a count: a thread announces one file at a time, and who asks for this reads
// several. A file that is closed is left to Read.
int OpenFileCache::File::Descriptor(std::shared_ptr<const void>* holder) const {
  auto held = std::make_shared<Held>(cache_);
  if (!held->Take(*this)) return -1;
  NoteRead();
  const int descriptor = held->file().Descriptor(&held->holder);
  *holder = std::move(held);
  return descriptor;
}

// A file that is about to be open, for a scope: the limit holds while several are opened.
class OpenFileCache::Opening {
 public:
  explicit Opening(OpenFileCache* cache) : cache_(cache) {
    MutexLock lock(&cache_->mutex_);
    cache_->being_opened_++;
  }
  ~Opening() {
    MutexLock lock(&cache_->mutex_);
    cache_->being_opened_--;
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

 private:
  OpenFileCache* const cache_;
};

size_t OpenFileCache::num_open() const {
  MutexLock lock(&mutex_);
  return open_.size() + removed_.size();
}

void OpenFileCache::Add(const File& file, Opened opened) {
  const RandomAccessFile* present = opened.get();
  open_.push_back({&file, std::move(opened)});
  file.place_ = open_.size() - 1;
  file.was_read_.store(true, std::memory_order_relaxed);
  file.present_.store(present, std::memory_order_seq_cst);
}

OpenFileCache::Opened OpenFileCache::Remove(size_t place) {
  const File& file = *open_[place].file;
  // Before it is looked for among what threads announce: see hazard_slot.h.
  file.present_.store(nullptr, std::memory_order_seq_cst);
  file.place_ = File::kNowhere;
  Opened opened = std::move(open_[place].opened);
  if (place + 1 < open_.size()) {
    open_[place] = std::move(open_.back());
    open_[place].file->place_ = place;
  }
  open_.pop_back();
  return opened;
}

// Ends: the second time that the hand comes to a file it finds no mark. Where readers set them as
// fast as it goes round, the file where it stops is as good as any.
size_t OpenFileCache::Coldest() {
  for (size_t left = 3 * open_.size();; left--, hand_++) {
    if (hand_ >= open_.size()) hand_ = 0;
    std::atomic<bool>& was_read = open_[hand_].file->was_read_;
    if (left == 0 || !was_read.load(std::memory_order_relaxed)) return hand_;
    was_read.store(false, std::memory_order_relaxed);
  }
}

// In two steps, since threads may be reading. Files leave open_ at once, where nobody finds them
// any more; they are closed when no thread announces them, now or the next time that room is made.
// One that is being read therefore gives no descriptor yet: only what was closed is counted for the
// answer. O(removed files * threads) under the lock.
bool OpenFileCache::MakeRoom(size_t least) {
  std::vector<Opened> closed;  // before the lock: close(2) is not called under it
  MutexLock lock(&mutex_);
  while (!open_.empty() && (least > 0 || open_.size() + being_opened_ > limit_)) {
    removed_.reserve(removed_.size() + 1);  // what readers may still announce has a place to stay
    removed_.push_back(Remove(Coldest()));
    least -= std::min<size_t>(least, 1);
  }
  const auto unread = std::partition(removed_.begin(), removed_.end(), [](const Opened& opened) {
    return HazardSlot::AnyAnnounces(opened.get());
  });
  closed.assign(std::make_move_iterator(unread), std::make_move_iterator(removed_.end()));
  removed_.erase(unread, removed_.end());
  return !closed.empty();
}

// Without memory to close any, the next table that is opened makes room.
void OpenFileCache::SetLimit(size_t limit) {
  {
    MutexLock lock(&mutex_);
    limit_ = limit;
  }
  UnlessOutOfMemory([this] { MakeRoom(0); });
}

// The coldest ones may be those that are being read: then the next ones are tried.
bool OpenFileCache::FreeDescriptors(size_t at_once, size_t kept) {
  for (;;) {
    size_t most;
    {
      MutexLock lock(&mutex_);
      most = open_.size() - std::min(open_.size(), kept);
    }
    if (MakeRoom(std::min(most, at_once))) return true;
    if (most == 0) return false;
  }
}

bool OpenFileCache::GiveUpSome() { return FreeDescriptors(kGivenUpAtOnce, kKeptForReads); }

// Room is made first. Where the process has no descriptor left all the same, since it needs them
// for other things too, tables give up theirs one by one.
absl::StatusOr<OpenFileCache::Opened> OpenFileCache::OpenWithinLimit(FileSystem* file_system,
                                                                     const std::string& path) {
  MakeRoom(0);
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened = file_system->OpenRandomAccess(path);
  while (absl::IsResourceExhausted(opened.status()) && FreeDescriptors(1, 0)) {
    opened = file_system->OpenRandomAccess(path);
  }
  if (!opened.ok()) return opened.status();
  // As the reader of a table asks for when it is made, and cannot each time.
  (*opened)->Hint(RandomAccessFile::AccessPattern::kRandom);
  return Opened(*std::move(opened));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFileCache::Open(FileSystem* file_system,
                                                                      const SharedPath& path,
                                                                      uint64_t file_id) {
  const Opening opening(this);
  WINNOW_ASSIGN_OR_RETURN(Opened opened, OpenWithinLimit(file_system, path.ToString()));
  auto file = std::make_unique<File>(this, file_system, path, file_id, opened->size());
  // After `file`, whose destructor takes the lock should there be no memory to add it.
  MutexLock lock(&mutex_);
  Add(*file, std::move(opened));
  return file;
}

absl::StatusOr<OpenFileCache::Opened> OpenFileCache::Reopen(const File& file) {
  {
    MutexLock lock(&mutex_);
    if (file.place_ != File::kNowhere) return open_[file.place_].opened;  // another was faster
  }
  const Opening opening(this);
  const std::string path = file.path_.ToString();
  absl::StatusOr<Opened> opened = OpenWithinLimit(file.file_system_, path);
  if (absl::IsNotFound(opened.status())) return GoneError(path, owner_);
  if (!opened.ok()) return opened.status();
  WINNOW_RETURN_IF_ERROR(CheckIdentity(**opened, path, file.size_, file.file_id_));
  // If another thread has opened the file meanwhile, this read uses its own, and then closes it.
  MutexLock lock(&mutex_);
  if (file.place_ == File::kNowhere) Add(file, *opened);
  return *opened;
}

}  // namespace winnow
