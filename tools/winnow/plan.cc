// winnow plan: what a budget of filter memory would bring.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

// Sums stay those of the database, whose families share the budget.
void KeepFamily(const std::string& family, FilterPlans* plans) {
  for (FilterPlanSummary* const summary :
       {&plans->now, &plans->at_once, &plans->planned, &plans->at_half, &plans->at_double}) {
    std::erase_if(summary->rows,
                  [&](const FilterPlanRow& row) { return row.column_family != family; });
  }
}

absl::StatusOr<ExitCode> RunPlan(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> given, BytesOf(arguments, "budget"));
  WINNOW_ASSIGN_OR_RETURN(const OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  uint64_t budget = given.value_or(0);
  if (!given.has_value()) {
    WINNOW_ASSIGN_OR_RETURN(const Options options, OptionsToOpen(arguments, Access::kRead));
    budget = options.filter_memory_budget;
  }
  if (budget == 0) {
    return absl::InvalidArgumentError(
        "the database has no filter_memory_budget: say which, as in --budget=256M");
  }
  WINNOW_ASSIGN_OR_RETURN(FilterPlans plans, opened.db->PlanFilters(budget));
  if (const auto family = arguments.Text("family")) KeepFamily(std::string(*family), &plans);
  if (arguments.Has("json")) {
    output.Line(plans.ToJson());
  } else {
    output.Text(plans.ToTable());
  }
  return ExitCode::kOk;
}

}  // namespace

Command PlanCommand() {
  return {
      .name = "plan",
      .summary = "show what a budget of filter memory would bring, and change nothing",
      .details = R"(
For each level: the bits per key that new filters get, what they take in memory, and how many
blocks a look-up of an absent key then reads in vain; and all of it for the budget at once, and
for half and double of it, or the smallest that works where half is too small. With --family the
levels of that one alone. Look-ups are those that the database's last process has measured.)",
      .json = R"({"lookups_per_second":...,"now":{"budget_bytes":...,"memory_bytes":...,
"needless_reads_per_miss":...,"needless_reads_per_second":...,"levels":[...]},
"at_once":...,"planned":...,"at_half":...,"at_double":...})",
      .examples = R"(
  winnow plan --db=/var/lib/app/db --budget=256M
  winnow plan --db=/var/lib/app/db --json)",
      .flags = {{"budget", "BYTES",
                 "filter_memory_budget to plan for, as 256M (default: the database's)"}},
      .run = RunPlan,
  };
}

}  // namespace winnow::cli
