// A round trip's result as JSON, for tools/dev bench.
#ifndef WINNOW_TOOLS_ROUND_TRIP_REPORT_H_
#define WINNOW_TOOLS_ROUND_TRIP_REPORT_H_

#include <string>

#include "tools/round_trip/round_trip.h"

namespace winnow::round_trip {

// {"records","record_bytes","repeated","filter_bytes","filter_bits_per_key","phases":[{"name",
// "operations","found","seconds","data_blocks_read","filters":{"checked","rejected",
// "false_positive","promised_fpr"}}]}, indented, with a newline at the end.
std::string ReportAsJson(const RoundTripResult& result, uint64_t num_repeated);

}  // namespace winnow::round_trip

#endif  // WINNOW_TOOLS_ROUND_TRIP_REPORT_H_
