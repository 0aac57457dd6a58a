// Any bytes as STATISTICS, the file of what a database has counted.

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/statistics/saved_statistics.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

// FORMAT.md: magic, version, checksum of what follows.
constexpr size_t kVersionAt = 8;
constexpr size_t kChecksumAt = 12;
constexpr size_t kBodyAt = 20;

winnow::SavedStatistics Example() {
  winnow::SavedStatistics saved;
  saved.saved_unix_seconds = 1767225700;
  saved.since_opening.tickers.fill(70000);
  winnow::FilterStatistics row;
  row.column_family = "default";
  row.level = 6;
  row.kind = "blocked_bloom";
  row.rejected = 300;
  row.promised_fpr = 0.01;
  saved.in_all.filters = {row, row};
  saved.in_all.openings = 2;
  saved.filter_budget_json = "{}";
  saved.families_for_hits = {"default"};
  return saved;
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {EncodeStatistics(Example()), EncodeStatistics(SavedStatistics())};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  // The right checksum, so that what is behind its check is reached.
  if (size >= kBodyAt) {
    winnow::EncodeFixed64(bytes.data() + kChecksumAt,
                          winnow::Checksum(std::string_view(bytes).substr(kBodyAt),
                                           winnow::DecodeFixed32(bytes.data() + kVersionAt)));
  }
  const auto saved = winnow::DecodeStatistics(bytes);
  if (!saved.ok()) return 0;
  winnow::CountedStatistics sum = saved->since_opening;
  winnow::AddStatistics(saved->in_all, &sum);
  const auto again = winnow::DecodeStatistics(winnow::EncodeStatistics(*saved));
  winnow::fuzz::Require(again.ok(), "what was read can be written");
  winnow::fuzz::Require(again->in_all.tickers == saved->in_all.tickers &&
                            again->in_all.filters.size() == saved->in_all.filters.size(),
                        "and is the same then");
  return 0;
}
