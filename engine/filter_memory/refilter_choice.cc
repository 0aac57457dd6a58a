#include "engine/filter_memory/refilter_choice.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/filter_memory/unit_split.h"

namespace winnow {

namespace {

// Both in bits per key, compared as bytes: of few keys any filter is near any other.
bool IsNear(double bits, double wanted, double num_keys) {
  return IsAboutAsPlanned(bits * num_keys / 8, wanted * num_keys / 8);
}

double BitsOf(const RefilterCandidate& candidate, size_t num_units) {
  return static_cast<double>(BytesOf(candidate.planned, num_units)) * 8 /
         std::max(candidate.num_keys, 1.0);
}

// Units come and go: it is enough that some number of them is what is wanted.
bool CanHave(const RefilterCandidate& candidate, double wanted) {
  for (size_t i = 1; i <= candidate.planned.steps.size(); i++) {
    if (IsNear(BitsOf(candidate, i), wanted, candidate.num_keys)) return true;
  }
  return false;
}

double FirstUnitBytes(const RefilterCandidate& candidate) {
  const auto& steps = candidate.planned.steps;
  return steps.empty() ? 0 : static_cast<double>(steps.front().bytes);
}

// A filter that uses up memory which lies idle may come nearer to the plan.
constexpr double kIdleShare = 1.0 / 32;
constexpr double kToleratedWhereIdle = 1.05;

// What holds for all tables.
struct Terms {
  // Reads a second that another byte would save where the plan would put it: the price of memory.
  double value_of_byte = 0;
  double horizon_seconds = 0;
  double free_bytes = 0;  // beside a unit of each filter
  double idle_bytes = 0;  // beside all that is in memory
  bool much_is_idle = false;

  bool IsRepaid(double reads_saved, double blocks) const {
    // A rate times the time over which it was measured: what would have been saved in that time is
    // taken for what will be.
    return reads_saved * horizon_seconds > kRefilterRepaid * blocks;
  }
};

// Files that were written while others needed the memory, which have been merged since, and their
// filters with them: all such files can be near the plan and leave a fifth of the memory unused.
bool IsForIdleMemory(const RefilterCandidate& candidate, double wanted, const Terms& terms) {
  const size_t all = candidate.planned.steps.size();
  if (!terms.much_is_idle || all == 0 || candidate.planned.num_resident < all) return false;
  const double bits = BitsOf(candidate, all);
  return wanted >= kToleratedWhereIdle * bits &&
         (wanted - bits) * candidate.num_keys / 8 <= terms.idle_bytes;
}

bool IsWanted(const RefilterCandidate& candidate, double wanted, const Terms& terms) {
  if (!candidate.may_change || candidate.num_keys <= 0) return false;
  if (!candidate.has_other_kind && CanHave(candidate, wanted) &&
      !IsForIdleMemory(candidate, wanted, terms)) {
    return false;
  }
  // A kind may come to other bits than were planned, and another try would come to the same.
  return candidate.tried_bits <= 0 || !IsNear(candidate.tried_bits, wanted, candidate.num_keys);
}

// Nothing: it would not be repaid, or there is no room for it.
std::optional<RefilterChoice> Weigh(const RefilterCandidate& candidate, double wanted,
                                    const Terms& terms) {
  const PlannedFilter& now = candidate.planned;
  const double bytes_for_bit = candidate.num_keys / 8;
  const double rate_now = PassingShare(now, now.num_resident);
  RefilterChoice choice;
  choice.bits_in_memory = BitsOf(candidate, now.num_resident);
  choice.bits_per_key = wanted;
  // Negative where the new filter is the smaller one: what it leaves to others counts in its
  // favour. What lies idle is to be had for nothing.
  const double more_bytes = (wanted - choice.bits_in_memory) * bytes_for_bit;
  const double price = terms.value_of_byte *
                       (more_bytes > 0 ? std::max(0.0, more_bytes - terms.idle_bytes) : more_bytes);
  // Most are not even by a filter without errors, and what one errs takes long to compute.
  if (!terms.IsRepaid(candidate.measured_lookups * rate_now - price, candidate.blocks_to_read)) {
    return std::nullopt;
  }
  // The first unit is the one that every filter keeps. Where it grew beyond what first units leave
  // free, that of another table would have to go.
  const std::vector<double> units = SplitIntoUnits(candidate.spec, wanted);
  const double first_unit_more = units.front() * bytes_for_bit - FirstUnitBytes(candidate);
  if (first_unit_more > std::max(0.0, terms.free_bytes)) return std::nullopt;
  const double rate = PlannedFpr(candidate.spec, wanted, static_cast<uint64_t>(candidate.num_keys));
  choice.reads_saved = candidate.measured_lookups * (rate_now - rate) - price;
  const double written = std::accumulate(units.begin(), units.end(), 0.0) * bytes_for_bit;
  choice.blocks = candidate.blocks_to_read + written / candidate.block_bytes;
  if (!terms.IsRepaid(choice.reads_saved, choice.blocks)) return std::nullopt;
  return choice;
}

}  // namespace

bool IsAboutAsPlanned(double bytes, double planned_bytes) {
  constexpr double kTolerated = 1.25;
  // Kinds round to cache lines, shards or buckets, which decides the size of so small a filter.
  constexpr double kSmallBytes = 1024;
  if (std::max(bytes, planned_bytes) <= kSmallBytes) return true;
  return bytes <= kTolerated * planned_bytes && planned_bytes <= kTolerated * bytes;
}

std::optional<RefilterChoice> ChooseRefilter(std::span<const RefilterCandidate> candidates,
                                             uint64_t budget_bytes, double horizon_seconds) {
  std::vector<PlannedLevel> levels;
  Terms terms;
  terms.horizon_seconds = horizon_seconds;
  terms.free_bytes = static_cast<double>(budget_bytes);
  double in_memory = 0;
  for (const RefilterCandidate& candidate : candidates) {
    // Each table is a level of its own in this plan, so that its bits follow its own look-ups.
    levels.push_back({candidate.spec, candidate.num_keys, candidate.planned.lookups});
    terms.free_bytes -= FirstUnitBytes(candidate);
    in_memory += static_cast<double>(BytesOf(candidate.planned, candidate.planned.num_resident));
  }
  const auto budget = static_cast<double>(budget_bytes);
  terms.idle_bytes = std::max(0.0, budget - in_memory);
  terms.much_is_idle = terms.idle_bytes >= kIdleShare * budget;
  const BitsPlan plan = PlanBits(levels, budget_bytes, kCoarseStepBits);
  terms.value_of_byte = plan.value_of_byte;
  std::optional<RefilterChoice> best;
  for (size_t i = 0; i < candidates.size(); i++) {
    const double wanted = plan.bits_per_key[i];
    if (!IsWanted(candidates[i], wanted, terms)) continue;
    std::optional<RefilterChoice> choice = Weigh(candidates[i], wanted, terms);
    if (!choice.has_value()) continue;
    choice->index = i;
    const bool is_better = !best.has_value() ||
                           choice->reads_saved / choice->blocks > best->reads_saved / best->blocks;
    if (is_better) best = choice;
  }
  return best;
}

}  // namespace winnow
