#include "engine/file_system/read_ring.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "engine/file_system/posix_io.h"

#if defined(__linux__) && __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(IORING_FEAT_FAST_POLL) && defined(__NR_io_uring_setup)
#define WINNOW_HAS_IO_URING 1
#endif
#endif

namespace winnow {

#ifdef WINNOW_HAS_IO_URING

namespace {

// Memory shared with the kernel, unmapped at the end.
class SharedPages {
 public:
  SharedPages() = default;
  ~SharedPages() {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  bool Map(int descriptor, size_t bytes, off_t what) {
    bytes_ = bytes;
    data_ =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, what);
    return data_ != MAP_FAILED;
  }
  template <typename T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(data_) + offset);
  }

 private:
  void* data_ = MAP_FAILED;
  size_t bytes_ = 0;
};

int SetUpRing(unsigned entries, io_uring_params* parameters) {
  return static_cast<int>(::syscall(__NR_io_uring_setup, entries, parameters));
}

int EnterRing(int descriptor, unsigned submitted, unsigned completed) {
  return static_cast<int>(::syscall(__NR_io_uring_enter, descriptor, submitted, completed,
                                    IORING_ENTER_GETEVENTS, nullptr, 0));
}

}  // namespace

// Used by one thread at a time. Between two calls of Read both of its queues are empty.
class ReadRings::Ring {
 public:
  // 0, or the errno of what failed.
  int Open() {
    io_uring_params parameters{};
    FileDescriptor descriptor(SetUpRing(kMostReads, &parameters));
    if (!descriptor.is_open()) return errno;
    // Since Linux 5.7: one mapping has both queues, and reads of what is in memory end at once.
    constexpr uint32_t kNeeded = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_FAST_POLL;
    if ((parameters.features & kNeeded) != kNeeded) return ENOSYS;
    const size_t queues_end =
        std::max<size_t>(parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t),
                         parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
    if (!queues_.Map(descriptor.get(), queues_end, IORING_OFF_SQ_RING) ||
        !entries_.Map(descriptor.get(), parameters.sq_entries * sizeof(io_uring_sqe),
                      IORING_OFF_SQES)) {
      return errno;
    }
    submission_head_ = queues_.at<std::atomic<uint32_t>>(parameters.sq_off.head);
    submission_tail_ = queues_.at<std::atomic<uint32_t>>(parameters.sq_off.tail);
    submission_mask_ = *queues_.at<uint32_t>(parameters.sq_off.ring_mask);
    completion_head_ = queues_.at<std::atomic<uint32_t>>(parameters.cq_off.head);
    completion_tail_ = queues_.at<std::atomic<uint32_t>>(parameters.cq_off.tail);
    completion_mask_ = *queues_.at<uint32_t>(parameters.cq_off.ring_mask);
    completions_ = queues_.at<io_uring_cqe>(parameters.cq_off.cqes);
    // Places of the queue are used in the order of the entries, always.
    uint32_t* const places = queues_.at<uint32_t>(parameters.sq_off.array);
    for (uint32_t i = 0; i < parameters.sq_entries; i++) places[i] = i;
    descriptor_ = std::move(descriptor);
    return 0;
  }

  // Does not return before the kernel has let go of every buffer.
  void Read(std::span<RingRead> reads) {
    const uint32_t first = submission_tail_->load(std::memory_order_relaxed);
    for (size_t i = 0; i < reads.size(); i++) {
      io_uring_sqe* const entry =
          entries_.at<io_uring_sqe>(0) + ((first + static_cast<uint32_t>(i)) & submission_mask_);
      std::memset(entry, 0, sizeof(*entry));
      entry->opcode = IORING_OP_READ;
      entry->fd = reads[i].descriptor;
      entry->off = reads[i].offset;
      entry->addr = reinterpret_cast<uintptr_t>(reads[i].buffer);
      entry->len = reads[i].length;
      entry->user_data = i;
      reads[i].is_whole = false;
    }
    const uint32_t count = static_cast<uint32_t>(reads.size());
    // Release: the kernel reads the entries once it has seen the tail.
    submission_tail_->store(first + count, std::memory_order_release);
    int entered;
    do {
      entered = EnterRing(descriptor_.get(), count, count);
    } while (entered < 0 && errno == EINTR);
    // What the kernel has not taken it never will: it looks at the tail in that call alone.
    const uint32_t taken = submission_head_->load(std::memory_order_acquire) - first;
    submission_tail_->store(first + taken, std::memory_order_release);
    for (uint32_t left = taken - Reap(reads); left > 0; left -= Reap(reads)) {
      // Nothing but a signal can end the wait early; whatever does, buffers are not given up.
      if (EnterRing(descriptor_.get(), 0, left) < 0 && errno != EINTR) ::sched_yield();
    }
  }

 private:
  // How many reads have ended since the last call.
  uint32_t Reap(std::span<RingRead> reads) {
    const uint32_t begin = completion_head_->load(std::memory_order_relaxed);
    // Acquire: what the kernel wrote before is then seen.
    const uint32_t end = completion_tail_->load(std::memory_order_acquire);
    for (uint32_t at = begin; at != end; at++) {
      const io_uring_cqe& completion = completions_[at & completion_mask_];
      RingRead& read = reads[completion.user_data];
      read.is_whole = completion.res >= 0 && static_cast<uint32_t>(completion.res) == read.length;
    }
    completion_head_->store(end, std::memory_order_release);
    return end - begin;
  }

  SharedPages queues_;
  SharedPages entries_;
  std::atomic<uint32_t>* submission_head_ = nullptr;
  std::atomic<uint32_t>* submission_tail_ = nullptr;
  uint32_t submission_mask_ = 0;
  std::atomic<uint32_t>* completion_head_ = nullptr;
  std::atomic<uint32_t>* completion_tail_ = nullptr;
  uint32_t completion_mask_ = 0;
  const io_uring_cqe* completions_ = nullptr;
  FileDescriptor descriptor_;  // closed first
};

#else

class ReadRings::Ring {
 public:
  int Open() { return ENOSYS; }
  void Read(std::span<RingRead> reads) {}
};

#endif  // WINNOW_HAS_IO_URING

// Room beforehand, so that a ring can always be put back. Where there are to be none, they are as
// good as refused.
ReadRings::ReadRings(size_t most_rings)
    : most_rings_(std::min(most_rings, kMostRings)), is_refused_(most_rings == 0) {
  unused_.reserve(most_rings_);
}
ReadRings::~ReadRings() = default;

std::unique_ptr<ReadRings::Ring> ReadRings::Take() {
  {
    MutexLock lock(&mutex_);
    if (!unused_.empty()) {
      std::unique_ptr<Ring> ring = std::move(unused_.back());
      unused_.pop_back();
      return ring;
    }
    if (num_rings_ == most_rings_) return nullptr;
    num_rings_++;
  }
  std::unique_ptr<Ring> ring(new (std::nothrow) Ring);
  const int error = ring == nullptr ? ENOMEM : ring->Open();
  if (error == 0) return ring;
  // For want of descriptors or memory it may go another time; what is forbidden, or not there,
  // stays so.
  if (error != EMFILE && error != ENFILE && error != ENOMEM && error != EAGAIN) {
    is_refused_.store(true, std::memory_order_relaxed);
  }
  MutexLock lock(&mutex_);
  num_rings_--;
  return nullptr;
}

void ReadRings::PutBack(std::unique_ptr<Ring> ring) {
  MutexLock lock(&mutex_);
  unused_.push_back(std::move(ring));
}

bool ReadRings::Read(std::span<RingRead> reads) {
  if (is_refused()) return false;
  std::unique_ptr<Ring> ring = Take();
  if (ring == nullptr) return false;
  ring->Read(reads);
  PutBack(std::move(ring));
  return true;
}

}  // namespace winnow
