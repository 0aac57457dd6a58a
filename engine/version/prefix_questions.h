// What filters say of many beginnings of keys at once.
#ifndef WINNOW_ENGINE_VERSION_PREFIX_QUESTIONS_H_
#define WINNOW_ENGINE_VERSION_PREFIX_QUESTIONS_H_

#include <span>
#include <string>

#include "engine/version/filter_counter_table.h"
#include "engine/version/version.h"

namespace winnow {

struct PrefixAsked {
  std::string prefix;      // not empty
  bool may_exist = false;  // false: no key begins so
};

// Sets `may_exist` of those with which keys may begin, by the files' bounds and the filters that
// are in memory; where it is set already nothing is asked. Reads nothing. What filters rule out is
// counted as a look-up that they rejected, for callers that then look no further; null: for those
// that do not look at all nothing is counted. Of versions whose keys are in bytewise order only.
// May throw std::bad_alloc.
void AskForPrefixesInFiles(const Version& version, FilterCounterTable* counters,
                           std::span<PrefixAsked> prefixes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_PREFIX_QUESTIONS_H_
