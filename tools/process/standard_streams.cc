#include "tools/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace winnow::process {

void PrepareStandardStreams() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The other way round, so that use fails: a closed input must not look like an empty one. The
    // lowest free number is this stream's, as those below are taken.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

absl::Status FlushStandardOutput() {
  // An error of an earlier write is remembered by the stream, its reason is not.
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write standard output", errno == 0 ? "" : ": ",
                                             errno == 0 ? "" : std::strerror(errno)));
}

}  // namespace winnow::process
