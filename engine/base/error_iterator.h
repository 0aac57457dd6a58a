// The iterator of a call that has failed.
#ifndef WINNOW_ENGINE_BASE_ERROR_ITERATOR_H_
#define WINNOW_ENGINE_BASE_ERROR_ITERATOR_H_

#include <memory>

#include "absl/status/status.h"
#include "winnow/iterator.h"

namespace winnow {

// An iterator that is never valid and has this status.
std::unique_ptr<Iterator> NewErrorIterator(absl::Status status);
// The same, and the status is OutOfMemory(). Takes no memory.
std::unique_ptr<Iterator> NewOutOfMemoryIterator();

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_ERROR_ITERATOR_H_
