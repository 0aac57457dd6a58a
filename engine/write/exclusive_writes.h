// A stretch in which no write is in progress, and none begins.
#ifndef WINNOW_ENGINE_WRITE_EXCLUSIVE_WRITES_H_
#define WINNOW_ENGINE_WRITE_EXCLUSIVE_WRITES_H_

#include "engine/write/write_queue.h"

namespace winnow {

// Waits its turn in the write queue and leads it until destroyed: the holder may do what only a
// leader may, such as switching memtables or changing the set of column families.
class ExclusiveWrites {
 public:
  explicit ExclusiveWrites(WriteQueue* queue) : queue_(queue) {
    queue_->Join(&request_);
    queue_->FormGroup(&request_, &group_);
  }
  ~ExclusiveWrites() { queue_->Complete(&group_); }
  ExclusiveWrites(const ExclusiveWrites&) = delete;
  ExclusiveWrites& operator=(const ExclusiveWrites&) = delete;

 private:
  WriteQueue* const queue_;
  WriteRequest request_;
  WriteGroup group_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_EXCLUSIVE_WRITES_H_
