// Keys that a user might have asked for but that are not there.
#ifndef WINNOW_TOOLS_ROUND_TRIP_ABSENT_KEYS_H_
#define WINNOW_TOOLS_ROUND_TRIP_ABSENT_KEYS_H_

#include <string>
#include <vector>

#include "tools/round_trip/records.h"

namespace winnow::round_trip {

// One absent key for each record, made from the record's key by changing a byte, appending one, or
// dropping the last: near a real key, and between the smallest and the largest of them, so that a
// filter has to answer and not the bounds of a file. `records` are distinct and in key order. A
// record for which no such key is found (there are fewer than three records) gives none.
std::vector<std::string> DeriveAbsentKeys(const std::vector<Record>& records);

}  // namespace winnow::round_trip

#endif  // WINNOW_TOOLS_ROUND_TRIP_ABSENT_KEYS_H_
