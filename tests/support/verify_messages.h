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

// The same without the files that an opening has set aside, which after a power failure is no
// damage.
inline std::vector<std::string> DamageMessages(DB& db) {
  std::vector<std::string> messages = VerifyMessages(db);
  std::erase_if(messages, [](const std::string& message) {
    const std::string path = message.substr(0, message.find(": "));
    return path.ends_with(".log.damaged") || path.ends_with(".log.unread") ||
           path.ends_with(".orphan");
  });
  return messages;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_VERIFY_MESSAGES_H_
