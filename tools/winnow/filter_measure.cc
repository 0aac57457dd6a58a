#include "tools/winnow/filter_measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/reader.h"

namespace winnow::cli {
namespace {

constexpr int kRuns = 3;
constexpr size_t kBatch = 64;

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): different numbers give different hashes.
uint64_t Scramble(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// Nanoseconds for each of `count`, the best of kRuns.
template <typename Work>
double BestNanoseconds(uint64_t count, Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count() / static_cast<double>(count));
  }
  return best;
}

// `count` hashes of numbers from `first`, those below `range` again and again, in random order.
std::vector<uint64_t> Hashes(uint64_t first, uint64_t count, uint64_t range) {
  std::vector<uint64_t> hashes(count);
  for (uint64_t i = 0; i < count; ++i) hashes[i] = Scramble(first + Scramble(i) % range);
  return hashes;
}

uint64_t CountFound(const filter::FilterReader& reader, const std::vector<uint64_t>& hashes) {
  uint64_t found = 0;
  for (const uint64_t hash : hashes) found += reader.MayContain(hash) ? 1 : 0;
  return found;
}

uint64_t CountFoundInBatches(const filter::FilterReader& reader,
                             const std::vector<uint64_t>& hashes) {
  std::array<uint8_t, kBatch> answers;
  uint64_t found = 0;
  for (size_t i = 0; i < hashes.size(); i += kBatch) {
    const size_t count = std::min(kBatch, hashes.size() - i);
    reader.MayContainBatch(hashes.data() + i, count, answers.data());
    for (size_t j = 0; j < count; ++j) found += answers[j];
  }
  return found;
}

// Numbers of absent keys begin here; those of present ones stay below.
constexpr uint64_t kAbsent = uint64_t{1} << 60;

absl::Status MeasureQueries(const filter::FilterReader& reader, uint64_t num_queries,
                            FilterMeasurement* result) {
  const std::vector<uint64_t> absent = Hashes(kAbsent, num_queries, kAbsent);
  const std::vector<uint64_t> present = Hashes(0, num_queries, result->num_keys);
  uint64_t found_absent = 0;
  uint64_t found_present = 0;
  uint64_t found_in_batches = 0;
  result->absent_query_ns =
      BestNanoseconds(num_queries, [&] { found_absent = CountFound(reader, absent); });
  result->present_query_ns =
      BestNanoseconds(num_queries, [&] { found_present = CountFound(reader, present); });
  result->batch_query_ns =
      BestNanoseconds(num_queries, [&] { found_in_batches = CountFoundInBatches(reader, absent); });
  if (found_present != num_queries || found_in_batches != found_absent) {
    return absl::InternalError(result->spec +
                               ": the filter answered wrongly while it was measured");
  }
  result->measured_fpr = static_cast<double>(found_absent) / static_cast<double>(num_queries);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FilterMeasurement> MeasureFilter(const std::string& spec, uint64_t num_keys,
                                                uint64_t num_queries) {
  WINNOW_ASSIGN_OR_RETURN(const filter::FilterSpec parsed, filter::ParseFilterSpec(spec));
  FilterMeasurement result;
  result.spec = spec;
  result.num_keys = num_keys;
  std::vector<uint64_t> hashes(num_keys);
  for (uint64_t i = 0; i < num_keys; ++i) hashes[i] = Scramble(i);
  filter::BuiltFilter built;
  absl::Status created;
  result.build_ns_per_key = BestNanoseconds(num_keys, [&] {
    absl::StatusOr<std::unique_ptr<filter::FilterBuilder>> builder =
        filter::FilterBuilder::Create(parsed, 0);
    created = builder.status();
    if (!created.ok()) return;
    for (const uint64_t hash : hashes) (*builder)->Add(hash);
    built = (*builder)->Finish();
  });
  WINNOW_RETURN_IF_ERROR(created);
  const filter::FilterReader reader = filter::FilterReader::Open(built.block, nullptr);
  const filter::FilterInfo info = reader.Describe();
  result.kind = filter::KindName(built.kind);
  result.num_bytes = built.block.size();
  result.bits_per_key = static_cast<double>(built.block.size()) * 8 / static_cast<double>(num_keys);
  result.probes = info.probes;
  result.fingerprint_bits = info.fingerprint_bits;
  result.expected_fpr = built.expected_fpr;
  WINNOW_RETURN_IF_ERROR(MeasureQueries(reader, num_queries, &result));
  return result;
}

Json AsJson(const FilterMeasurement& measurement) {
  return Json{{"spec", measurement.spec},
              {"kind", measurement.kind},
              {"measured_keys", measurement.num_keys},
              {"measured_bytes", measurement.num_bytes},
              {"bits_per_key", measurement.bits_per_key},
              {"probes", measurement.probes},
              {"fingerprint_bits", measurement.fingerprint_bits},
              {"expected_fpr", measurement.expected_fpr},
              {"measured_fpr", measurement.measured_fpr},
              {"build_ns_per_key", measurement.build_ns_per_key},
              {"absent_query_ns", measurement.absent_query_ns},
              {"present_query_ns", measurement.present_query_ns},
              {"batch_query_ns", measurement.batch_query_ns}};
}

}  // namespace winnow::cli
