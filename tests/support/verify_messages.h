// What DB::Verify finds, as text that a failing test can print.
#ifndef WINNOW_TESTS_ENGINE_VERIFY_MESSAGES_H_
#define WINNOW_TESTS_ENGINE_VERIFY_MESSAGES_H_

#include <string>
#include <vector>

#include "winnow/db.h"

namespace winnow {

// One message for each problem; the error alone if nothing could be checked. Empty: sound.
inline std::vector<std::string> VerifyMessages(DB& db) {
  const auto problems = db.Verify();
  if (!problems.ok()) return {problems.status().ToString()};
  std::vector<std::string> messages;
  for (const VerifyProblem& problem : *problems) messages.emplace_back(problem.status.message());
  return messages;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_VERIFY_MESSAGES_H_
