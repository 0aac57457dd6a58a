#pragma once
#include "slice.h"

namespace ROCKSDB_NAMESPACE {
class Status {
 public:
  static Status OK() { return Status(); }
  static Status Corruption(const Slice& /*message*/, const Slice& /*more*/ = Slice()) {
    Status status;
    status.ok_ = false;
    return status;
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};
}  // namespace ROCKSDB_NAMESPACE
