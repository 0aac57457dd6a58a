// The store's locks are those of the ground floor that it shares with filter/.
#ifndef WINNOW_ENGINE_BASE_MUTEX_H_
#define WINNOW_ENGINE_BASE_MUTEX_H_

#include "filter/base/mutex.h"

#endif  // WINNOW_ENGINE_BASE_MUTEX_H_
