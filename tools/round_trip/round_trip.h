// Real records through a store and back: load, close, reopen, read everything, ask for absent keys.
#ifndef WINNOW_TOOLS_ROUND_TRIP_ROUND_TRIP_H_
#define WINNOW_TOOLS_ROUND_TRIP_ROUND_TRIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/round_trip/records.h"
#include "winnow/options.h"

namespace winnow::round_trip {

// One step: how many operations, how long, and what the store counted meanwhile.
struct Phase {
  std::string name;
  uint64_t operations = 0;
  uint64_t found = 0;
  double seconds = 0;
  uint64_t data_blocks_read = 0;
  // Of the filters, over all files asked.
  uint64_t filters_checked = 0;
  uint64_t filters_rejected = 0;
  uint64_t false_positives = 0;
  double promised_fpr = 0;  // since opening; 0 where nothing was checked
};

struct RoundTripResult {
  std::vector<Phase> phases;  // load, read back, scan, absent keys
  uint64_t num_records = 0;
  uint64_t record_bytes = 0;
  uint64_t filter_bytes = 0;  // of all files, after reopening
  double filter_bits_per_key = 0;
};

// Works in the database at `path`, which must not exist; it is left behind. DataLoss if any record
// does not come back exactly, or if an absent key is found: the message names the key.
absl::StatusOr<RoundTripResult> RunRoundTrip(const Options& options, const std::string& path,
                                             const std::vector<Record>& records);

}  // namespace winnow::round_trip

#endif  // WINNOW_TOOLS_ROUND_TRIP_ROUND_TRIP_H_
