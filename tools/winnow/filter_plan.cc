// winnow filter plan and bench: what each kind would cost, measured here and now.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/filter_measure.h"
#include "tools/winnow/progress.h"
#include "winnow/filter/range_filter.h"
#include "winnow/filter/sizing.h"
#include "winnow/filter/spec.h"

namespace winnow::cli {
namespace {

// Larger filters are measured with as many keys as this.
constexpr uint64_t kMaxMeasuredKeys = 1'000'000;
// Enough for times; bench also shows the measured rate, which takes more.
constexpr uint64_t kQueriesOfPlan = 200'000;
constexpr uint64_t kQueriesOfBench = 1'000'000;
constexpr uint64_t kMaxBenchKeys = 200'000'000;

std::string Shape(const FilterMeasurement& measurement) {
  if (measurement.probes != 0) return absl::StrCat(measurement.probes, " probes");
  if (measurement.fingerprint_bits != 0) return absl::StrCat(measurement.fingerprint_bits, " bits");
  return "-";
}

std::string Percent(double rate) { return absl::StrFormat("%.4g%%", 100 * rate); }

// What was asked for, and what auto chose.
std::string Label(const std::string& asked, const FilterMeasurement& measurement) {
  const std::string kind = asked.substr(0, asked.find(':'));
  return kind == measurement.kind ? asked : absl::StrCat(asked, " (", measurement.kind, ")");
}

struct Plan {
  uint64_t num_keys = 0;
  std::optional<double> fpr;
  std::optional<uint64_t> bytes;
  std::optional<uint64_t>
      range_length;  // the longest that a range filter shall answer at that rate

  // `spec`, with an amount that keeps to the wish. Of more bytes than a kind can use it takes what
  // it can; InvalidArgument if they are too few.
  absl::StatusOr<std::string> WithAmount(filter::FilterSpec spec) const {
    if (fpr.has_value()) {
      spec.fpr = *fpr;
      WINNOW_RETURN_IF_ERROR(filter::ValidateFilterSpec(spec));
      return filter::ToString(spec);
    }
    const filter::BitsPerKeyRange range = filter::AllowedBitsPerKey(spec);
    const double bits_per_key = static_cast<double>(*bytes) * 8 / static_cast<double>(num_keys);
    if (bits_per_key < range.min) {
      const double min_bytes = std::ceil(range.min * static_cast<double>(num_keys) / 8);
      return absl::InvalidArgumentError(
          absl::StrCat("needs at least ", report::HumanBytes(min_bytes), ", ",
                       report::HumanCount(static_cast<uint64_t>(min_bytes)), " bytes"));
    }
    spec.bits_per_key = std::min(bits_per_key, range.max);
    return filter::ToString(spec);
  }
};

absl::StatusOr<FilterMeasurement> MeasurePlan(const Plan& plan, const filter::FilterSpec& kind,
                                              uint64_t measured_keys) {
  WINNOW_ASSIGN_OR_RETURN(const std::string spec, plan.WithAmount(kind));
  return MeasureFilter(spec, measured_keys, kQueriesOfPlan);
}

absl::StatusOr<Plan> ReadPlan(const Arguments& arguments) {
  Plan plan;
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> num_keys, CountOf(arguments, "keys"));
  WINNOW_ASSIGN_OR_RETURN(plan.fpr, RateOf(arguments, "fpr"));
  WINNOW_ASSIGN_OR_RETURN(plan.bytes, BytesOf(arguments, "bytes"));
  if (!num_keys.has_value()) {
    return absl::InvalidArgumentError("say how many keys there will be: --keys=N");
  }
  if (plan.fpr.has_value() == plan.bytes.has_value()) {
    return absl::InvalidArgumentError(
        "say how often it may be wrong, --fpr=1%, or how large it may be, --bytes=64M; one of "
        "them");
  }
  plan.num_keys = *num_keys;
  WINNOW_ASSIGN_OR_RETURN(plan.range_length, CountOf(arguments, "range"));
  if (plan.range_length.has_value() && !plan.fpr.has_value()) {
    return absl::InvalidArgumentError("--range: say at which rate: --fpr=1%");
  }
  return plan;
}

// A range of n numbers is let through with a probability of n / 2^(bits - 2) at most.
double RangeFilterBits(const Plan& plan) {
  const double bits = std::log2(static_cast<double>(*plan.range_length) / *plan.fpr) + 2;
  return std::max(filter::kMinRangeFilterBits, std::ceil(bits * 10) / 10);
}

// The range filter's directory included.
double RangeFilterBytes(const Plan& plan) {
  return (RangeFilterBits(plan) + 0.2) * static_cast<double>(plan.num_keys) / 8;
}

// True if no range filter can keep to the plan.
bool IsTooExactForRanges(const Plan& plan) {
  return RangeFilterBits(plan) > filter::kMaxRangeFilterBits;
}

// What a range filter beside any of them would take.
std::string RangeFilterText(const Plan& plan) {
  const std::string length = report::HumanCount(*plan.range_length);
  const double bits = RangeFilterBits(plan);
  if (IsTooExactForRanges(plan)) {
    return absl::StrFormat(
        "No range filter is so exact for ranges of %s numbers: it would take %.1f "
        "bits a key, and has %g at most.",
        length, bits, filter::kMaxRangeFilterBits);
  }
  return absl::StrFormat(
      "A range filter beside it, for scans of up to %s numbers without keys, at "
      "this rate:\n+range:%g, %s besides.",
      length, bits, report::HumanBytes(RangeFilterBytes(plan)));
}

Json RangeFilterJson(const Plan& plan) {
  if (IsTooExactForRanges(plan)) return Json{{"kind", "range"}, {"refused", RangeFilterText(plan)}};
  return Json{{"kind", "range"},
              {"keys", plan.num_keys},
              {"range", *plan.range_length},
              {"bits_per_key", RangeFilterBits(plan)},
              {"bytes", RangeFilterBytes(plan)}};
}

// The whole filter's bytes: as measured, or scaled up from what was measured.
double PlannedBytes(const Plan& plan, const FilterMeasurement& measurement) {
  return measurement.bits_per_key * static_cast<double>(plan.num_keys) / 8;
}

constexpr char kPlanRow[] = "%-26s %12s %9s %9s %-9s %10s %9s %9s\n";

std::string PlanRow(const Plan& plan, const std::string& kind, const FilterMeasurement& row) {
  return absl::StrFormat(
      kPlanRow, Label(kind, row), report::HumanBytes(PlannedBytes(plan, row)),
      absl::StrFormat("%.2f", row.bits_per_key), Percent(row.expected_fpr), Shape(row),
      absl::StrFormat("%.1f", row.build_ns_per_key), absl::StrFormat("%.1f", row.absent_query_ns),
      report::HumanSeconds(row.build_ns_per_key * static_cast<double>(plan.num_keys) / 1e9));
}

absl::StatusOr<ExitCode> RunPlan(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(arguments));
  const uint64_t measured_keys = std::min(plan.num_keys, kMaxMeasuredKeys);
  const bool json = arguments.Has("json");
  std::string refused;
  if (!json) {
    output.Write(absl::StrFormat(kPlanRow, "kind", "size", "bits/key", "rate", "shape", "build ns",
                                 "query ns", "build"));
  }
  for (const filter::FilterSpec& spec : filter::BuildableSpecs()) {
    const std::string kind = filter::ToString(spec);
    const absl::StatusOr<FilterMeasurement> row = MeasurePlan(plan, spec, measured_keys);
    if (absl::IsInvalidArgument(row.status())) {
      if (json) {
        output.Write(ToLine(Json{{"kind", kind}, {"refused", ToStd(row.status().message())}}));
      } else {
        absl::StrAppend(&refused, kind, ": ", row.status().message(), "\n");
      }
      continue;
    }
    if (!row.ok()) return row.status();
    if (json) {
      Json line = {{"keys", plan.num_keys}, {"bytes", PlannedBytes(plan, *row)}};
      line.update(AsJson(*row));
      output.Write(ToLine(line));
    } else {
      output.Write(PlanRow(plan, kind, *row));
    }
  }
  if (json) {
    if (plan.range_length.has_value()) output.Write(ToLine(RangeFilterJson(plan)));
    return ExitCode::kOk;
  }
  output.Write(refused);
  output.Line("");
  output.Line(absl::StrFormat(
      "For %s, each measured on this machine with %s.\n"
      "build ns and query ns are for one key without its hash, query ns for an absent one;\n"
      "filters larger than the processor's cache take longer to query.",
      report::HumanCount(plan.num_keys, "key", "keys"), report::HumanCount(measured_keys)));
  if (plan.range_length.has_value()) output.Line(RangeFilterText(plan));
  return ExitCode::kOk;
}

constexpr char kBenchRow[] = "%-36s %9s %9s %9s %9s %9s %9s %9s\n";

std::string BenchRow(const std::string& spec, const FilterMeasurement& row) {
  const auto time = [](double nanoseconds) { return absl::StrFormat("%.1f", nanoseconds); };
  return absl::StrFormat(kBenchRow, Label(spec, row), absl::StrFormat("%.2f", row.bits_per_key),
                         Percent(row.expected_fpr), Percent(row.measured_fpr),
                         time(row.build_ns_per_key), time(row.absent_query_ns),
                         time(row.present_query_ns), time(row.batch_query_ns));
}

absl::StatusOr<ExitCode> RunBench(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> num_keys, CountOf(arguments, "keys"));
  if (num_keys.value_or(1) > kMaxBenchKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("--keys: at most ", report::HumanCount(kMaxBenchKeys)));
  }
  std::vector<std::string> specs = arguments.All("filter");
  if (specs.empty()) {
    for (filter::FilterSpec spec : filter::BuildableSpecs()) {
      spec.fpr = 0.01;
      specs.push_back(filter::ToString(spec));
    }
  }
  for (const std::string& spec : specs) {
    WINNOW_ASSIGN_OR_RETURN(const filter::FilterSpec parsed, filter::ParseFilterSpec(spec));
    if (parsed.kind == filter::FilterKind::kNone) {
      return absl::InvalidArgumentError("--filter=none: there is nothing to measure");
    }
    if (parsed.range_bits != 0) {
      return absl::InvalidArgumentError(
          "--filter: keys are looked up here, and no ranges: leave out what is behind '+'");
    }
  }
  const bool json = arguments.Has("json");
  if (!json) {
    output.Write(absl::StrFormat(kBenchRow, "filter", "bits/key", "rate", "measured", "build ns",
                                 "absent ns", "present", "batch"));
  }
  for (const std::string& spec : specs) {
    WINNOW_ASSIGN_OR_RETURN(
        const FilterMeasurement row,
        MeasureFilter(spec, num_keys.value_or(kMaxMeasuredKeys), kQueriesOfBench));
    output.Write(json ? ToLine(AsJson(row)) : BenchRow(spec, row));
    WINNOW_RETURN_IF_ERROR(output.Flush());
  }
  return ExitCode::kOk;
}

}  // namespace

Command FilterPlanCommand() {
  return {
      .name = "filter plan",
      .database = DatabaseUse::kNone,
      .summary = "compare the kinds of filter for your number of keys",
      .details = R"(
Give the number of keys, and either the false-positive rate that is wanted or the bytes that
the filter may take. Every kind is built and queried here and now, with up to a million keys,
so that the times are this machine's; takes a few seconds. shape is the number of probes of
a Bloom filter, or the bits of a fingerprint.)",
      .json = R"(
one line per kind: keys, bytes, spec, kind, bits_per_key, probes, fingerprint_bits,
expected_fpr, measured_fpr, build_ns_per_key, absent_query_ns, present_query_ns,
batch_query_ns, measured_keys, measured_bytes; or kind, refused. With --range one more: kind
"range", keys, range, bits_per_key, bytes; or kind, refused)",
      .examples = R"(
  winnow filter plan --keys=1e9 --fpr=0.1%
  winnow filter plan --keys=50e6 --bytes=64M
  winnow filter plan --keys=50e6 --fpr=1% --range=1000)",
      .flags = {{"keys", "N", "how many keys there will be: 1000000, 1e9"},
                {"fpr", "RATE", "the wanted false-positive rate: 0.01 or 1%"},
                {"bytes", "SIZE", "the size that the filter may have: 4096, 512KiB, 64M, 1.5GiB"},
                {"range", "LENGTH",
                 "also say what a range filter takes that refutes scans of up to so many numbers"}},
      .run = RunPlan,
  };
}

Command FilterBenchCommand() {
  return {
      .name = "filter bench",
      .database = DatabaseUse::kNone,
      .summary = "measure how quickly filters are built and queried here",
      .details = R"(
Builds each filter from random keys and queries it a million times for absent keys, for
present ones, and for absent ones 64 at once; the best of three runs, in nanoseconds per
key, without hashing. One thread.)",
      .json = R"(
one line per filter: spec, kind, measured_keys, measured_bytes, bits_per_key, probes,
fingerprint_bits, expected_fpr, measured_fpr, build_ns_per_key, absent_query_ns,
present_query_ns, batch_query_ns)",
      .examples = R"(
  winnow filter bench
  winnow filter bench --filter=blocked_bloom:10 --filter=cuckoo:0.1% --keys=1e7)",
      .flags = {{"filter", "SPEC", "what to measure (default: every kind at 1%); repeatable",
                 /*repeatable=*/true},
                {"keys", "N", "keys in each filter (default: 1e6)"}},
      .run = RunBench,
  };
}

}  // namespace winnow::cli
