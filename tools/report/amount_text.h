// Amounts as people read them.
#ifndef WINNOW_TOOLS_REPORT_AMOUNT_TEXT_H_
#define WINNOW_TOOLS_REPORT_AMOUNT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow::report {

// "1.5 MiB", "312 B".
std::string HumanBytes(double bytes);
// "0.4 s", "3 min 05 s".
std::string HumanSeconds(double seconds);
// "12,345".
std::string HumanCount(uint64_t count);
// "1 file", "12,345 files".
std::string HumanCount(uint64_t count, std::string_view one, std::string_view many);

}  // namespace winnow::report

#endif  // WINNOW_TOOLS_REPORT_AMOUNT_TEXT_H_
