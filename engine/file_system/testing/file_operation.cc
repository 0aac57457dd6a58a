#include "engine/file_system/testing/file_operation.h"

#include "engine/base/status.h"

namespace winnow {
namespace {

// Without a default, so that compilers name a kind that was forgotten.
const char* KindName(FileOperation::Kind kind) {
  switch (kind) {
    case FileOperation::Kind::kCreate:
      return "create";
    case FileOperation::Kind::kAppend:
      return "append";
    case FileOperation::Kind::kFlush:
      return "flush";
    case FileOperation::Kind::kSync:
      return "sync";
    case FileOperation::Kind::kClose:
      return "close";
    case FileOperation::Kind::kLink:
      return "link";
    case FileOperation::Kind::kRename:
      return "rename";
    case FileOperation::Kind::kRemove:
      return "remove";
    case FileOperation::Kind::kCreateDirectory:
      return "create directory";
    case FileOperation::Kind::kRemoveDirectory:
      return "remove directory";
    case FileOperation::Kind::kSyncDirectory:
      return "sync directory";
    case FileOperation::Kind::kOpenForReading:
      return "open";
    case FileOperation::Kind::kRead:
      return "read";
    case FileOperation::Kind::kList:
      return "list";
    case FileOperation::Kind::kInspect:
      return "inspect";
    case FileOperation::Kind::kLock:
      return "lock";
  }
  return "unknown operation";
}

}  // namespace

// For messages of failing tests. Appended bytes are not shown: their place and number say which.
std::string FileOperation::ToString() const {
  std::string text = absl::StrCat(KindName(kind), " ", path);
  if (kind == Kind::kLink || kind == Kind::kRename) absl::StrAppend(&text, " to ", target);
  if (kind == Kind::kAppend || kind == Kind::kRead) {
    absl::StrAppend(&text, ": ", length, " bytes at offset ", offset);
  }
  return text;
}

}  // namespace winnow
