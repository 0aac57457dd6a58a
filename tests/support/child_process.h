// A piece of a test that runs in a child made by fork(2).
#ifndef WINNOW_TESTS_SUPPORT_CHILD_PROCESS_H_
#define WINNOW_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace winnow {

// The exit code that `body` gives, or minus the signal that ended the child: SIGALRM for one that
// waits.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_CHILD_PROCESS_H_
