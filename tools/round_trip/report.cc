#include "tools/round_trip/report.h"

#include <nlohmann/json.hpp>

namespace winnow::round_trip {

std::string ReportAsJson(const RoundTripResult& result, uint64_t num_repeated) {
  nlohmann::ordered_json report;
  report["records"] = result.num_records;
  report["record_bytes"] = result.record_bytes;
  report["repeated"] = num_repeated;
  report["filter_bytes"] = result.filter_bytes;
  report["filter_bits_per_key"] = result.filter_bits_per_key;
  report["phases"] = nlohmann::ordered_json::array();
  for (const Phase& phase : result.phases) {
    nlohmann::ordered_json row;
    row["name"] = phase.name;
    row["operations"] = phase.operations;
    row["found"] = phase.found;
    row["seconds"] = phase.seconds;
    row["data_blocks_read"] = phase.data_blocks_read;
    row["filters"] = {{"checked", phase.filters_checked},
                      {"rejected", phase.filters_rejected},
                      {"false_positive", phase.false_positives},
                      {"promised_fpr", phase.promised_fpr}};
    report["phases"].push_back(std::move(row));
  }
  return report.dump(2) + "\n";
}

}  // namespace winnow::round_trip
