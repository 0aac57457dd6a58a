#include "leveldb/status.h"

namespace leveldb {

// Shared, never changed: copying an error copies a pointer, and OK is the null pointer, which costs
// successful calls nothing.
Status::Status(Code code, const Slice& message, const Slice& detail) {
  std::string text = message.ToString();
  if (!detail.empty()) text.append(": ").append(detail.data(), detail.size());
  error_ = std::make_shared<const Error>(Error{code, std::move(text)});
}

// The words are LevelDB's, since programs print and compare them; error_text.cc has the same for C.
std::string Status::ToString() const {
  switch (code()) {
    case kOk:
      return "OK";
    case kNotFound:
      return "NotFound: " + error_->text;
    case kCorruption:
      return "Corruption: " + error_->text;
    case kNotSupported:
      return "Not implemented: " + error_->text;
    case kInvalidArgument:
      return "Invalid argument: " + error_->text;
    case kIOError:
      break;
  }
  return "IO error: " + error_->text;
}

}  // namespace leveldb
