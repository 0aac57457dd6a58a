// What filters say of a range of keys.
#ifndef WINNOW_ENGINE_VERSION_RANGE_FILTER_QUESTION_H_
#define WINNOW_ENGINE_VERSION_RANGE_FILTER_QUESTION_H_

#include <string_view>

#include "engine/version/version.h"

namespace winnow {

// False: no file has a key from `lower` to before `upper`, by the files' bounds and the filters
// that are in memory. Reads nothing, counts nothing.
bool MayHaveKeysInRange(const Version& version, std::string_view lower, std::string_view upper);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_RANGE_FILTER_QUESTION_H_
