// Threads whose creation may fail: a process has a limit of them.
#ifndef WINNOW_ENGINE_BASE_START_THREAD_H_
#define WINNOW_ENGINE_BASE_START_THREAD_H_

#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

// Makes `*thread` run the function. ResourceExhausted, with nothing started: the system has no
// thread to give.
template <typename Function>
absl::Status StartThread(std::thread* thread, Function function) {
  try {
    *thread = std::thread(std::move(function));
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", error.what()));
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_START_THREAD_H_
