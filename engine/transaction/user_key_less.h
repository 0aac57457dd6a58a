// Sorts what a transaction keeps by user keys.
#ifndef WINNOW_ENGINE_TRANSACTION_USER_KEY_LESS_H_
#define WINNOW_ENGINE_TRANSACTION_USER_KEY_LESS_H_

#include <string_view>

#include "engine/base/internal_key.h"

namespace winnow {

// Orders user keys as a column family does, so that keys that compare equal are one.
struct UserKeyLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return comparator.CompareUserKeys(a, b) < 0;
  }
  InternalKeyComparator comparator;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_USER_KEY_LESS_H_
