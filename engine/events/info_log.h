// The file LOG of a database: lines for people. It is no part of what the database promises to
// keep: never synced, and whatever fails with it is ignored.
#ifndef WINNOW_ENGINE_EVENTS_INFO_LOG_H_
#define WINNOW_ENGINE_EVENTS_INFO_LOG_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "winnow/file_system.h"

namespace winnow {

// Whose LOG it is.
struct InfoLogPlace {
  FileSystem* file_system = nullptr;
  std::string directory;
};

struct InfoLogLimits {
  size_t file_bytes = 0;  // after which LOG is replaced; 0: there is none
  int num_files = 1;      // LOG itself included

  friend bool operator==(const InfoLogLimits&, const InfoLogLimits&) = default;
};

// LOG is renamed to LOG.old, LOG.old to LOG.old.2 and so on when the database is opened and when
// LOG is full; the oldest beyond the wanted number is removed. Used by one thread at a time.
class InfoLog {
 public:
  // Renames what is there, but for older files that are too many, and begins a new LOG.
  InfoLog(InfoLogPlace place, const InfoLogLimits& limits);
  ~InfoLog();

  // From the next line on; older files that are too many now are removed.
  void SetLimits(const InfoLogLimits& limits);

  // "2026-11-21 16:33:24.123456 text\n", in UTC; further lines of the text are indented.
  void Write(std::chrono::system_clock::time_point time, std::string_view text);
  // Hands what was written to the operating system.
  void Flush();

 private:
  void RemoveTooOld();
  void Rotate();

  std::string FileName(int age) const;

  const InfoLogPlace place_;
  InfoLogLimits limits_;
  std::unique_ptr<WritableFile> file_;  // null: lines are dropped until the next try
  size_t bytes_until_retry_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_EVENTS_INFO_LOG_H_
