// How a LevelDB call went.
#ifndef WINNOW_COMPAT_LEVELDB_STATUS_H_
#define WINNOW_COMPAT_LEVELDB_STATUS_H_

#include <memory>
#include <string>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

// OK, or a kind of error with a text. A value; const methods may be called from many threads.
class Status {
 public:
  Status() noexcept {}

  static Status OK() { return Status(); }
  // The text is `message`, with ": " and `detail` behind it if there is a detail.
  static Status NotFound(const Slice& message, const Slice& detail = Slice()) {
    return Status(kNotFound, message, detail);
  }
  static Status Corruption(const Slice& message, const Slice& detail = Slice()) {
    return Status(kCorruption, message, detail);
  }
  static Status NotSupported(const Slice& message, const Slice& detail = Slice()) {
    return Status(kNotSupported, message, detail);
  }
  static Status InvalidArgument(const Slice& message, const Slice& detail = Slice()) {
    return Status(kInvalidArgument, message, detail);
  }
  static Status IOError(const Slice& message, const Slice& detail = Slice()) {
    return Status(kIOError, message, detail);
  }

  bool ok() const { return error_ == nullptr; }
  bool IsNotFound() const { return code() == kNotFound; }
  bool IsCorruption() const { return code() == kCorruption; }
  bool IsIOError() const { return code() == kIOError; }
  bool IsNotSupportedError() const { return code() == kNotSupported; }
  bool IsInvalidArgument() const { return code() == kInvalidArgument; }

  // "OK", or the kind and the text: "NotFound: ...", "Corruption: ...", "Not implemented: ...",
  // "Invalid argument: ...", "IO error: ...".
  std::string ToString() const;

 private:
  enum Code { kOk, kNotFound, kCorruption, kNotSupported, kInvalidArgument, kIOError };
  struct Error {
    Code code;
    std::string text;
  };

  Status(Code code, const Slice& message, const Slice& detail);
  Code code() const { return error_ == nullptr ? kOk : error_->code; }

  std::shared_ptr<const Error> error_;
};

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_STATUS_H_
