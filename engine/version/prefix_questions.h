// What filters say of many beginnings of keys at once.
#ifndef WINNOW_ENGINE_VERSION_PREFIX_QUESTIONS_H_
#define WINNOW_ENGINE_VERSION_PREFIX_QUESTIONS_H_

#include <span>
#include <string>

#include "engine/version/version.h"

namespace winnow {

struct PrefixAsked {
  std::string prefix;      // not empty
  bool may_exist = false;  // false: no key begins so
};

// Sets `may_exist` of those with which keys may begin, by the files' bounds and the filters that
// are in memory; where it is set already nothing is asked. Reads nothing, counts nothing. Of
// versions whose keys are in bytewise order only.
void AskForPrefixesInFiles(const Version& version, std::span<PrefixAsked> prefixes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_PREFIX_QUESTIONS_H_
