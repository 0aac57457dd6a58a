#include "tools/winnow/filter_comparison.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/internal_key.h"
#include "engine/base/shared_prefix.h"
#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/version/level_files.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/reader.h"

namespace winnow::cli {
namespace {

// Asked of each file's filter, for its rate and its time.
constexpr size_t kRandomHashes = 65536;
constexpr uint64_t kRandomSeed = 20;
constexpr size_t kReadAhead = size_t{1} << 20;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Time and rate of a filter whose answer to a hash is `ask`.
template <typename Ask>
void AskRandom(const std::vector<uint64_t>& hashes, uint64_t num_keys, Ask ask,
               ComparedFilter* candidate) {
  const auto begin = std::chrono::steady_clock::now();
  size_t maybe = 0;
  for (const uint64_t hash : hashes) maybe += ask(hash) ? 1 : 0;
  const double ns = SecondsSince(begin) * 1e9 / static_cast<double>(hashes.size());
  // Sums that Finish divides by the keys.
  const auto weight = static_cast<double>(num_keys);
  candidate->query_ns += ns * weight;
  candidate->sampled_fpr +=
      static_cast<double>(maybe) / static_cast<double>(hashes.size()) * weight;
}

// What is in memory of a table's filter.
struct PresentFilter {
  explicit PresentFilter(const SstableReader& of)
      : table(of),
        units(of.filter_units()),
        num_bytes(of.figures().filter_bytes),
        expected_fpr(of.figures().expected_fpr) {
    if (units == nullptr) return;
    num_bytes = units->resident_bytes();
    expected_fpr = 1;
    for (size_t i = 0; i < units->num_resident(); i++) {
      expected_fpr *= units->units()[i].expected_fpr;
    }
  }

  bool MayContain(uint64_t hash) const {
    return units == nullptr ? table.filter().MayContain(hash) : units->MayContain(hash);
  }

  const SstableReader& table;
  const FilterUnits* units;
  uint64_t num_bytes;
  double expected_fpr;
};

}  // namespace

FilterComparison::FilterComparison(ComparedWorkload workload,
                                   std::vector<ComparedFilter> candidates)
    : workload_(std::move(workload)),
      candidates_(std::move(candidates)),
      found_(workload_.lookups.size(), false) {
  std::mt19937_64 random(kRandomSeed);
  random_hashes_.resize(kRandomHashes);
  for (uint64_t& hash : random_hashes_) hash = random();
}

// As builders of tables get them. Whether a look-up finds its key is decided by the hash of the
// whole key, but of a trace of hashes, which has none.
absl::Status FilterComparison::ReadKeys(const SstableReader& table, TableKeys* keys) const {
  SstableReadOptions read;
  read.fill_cache = false;
  read.readahead_bytes = kReadAhead;
  SstableIterator iterator(table, read);
  std::string last;
  bool is_first = true;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    const std::string_view key = UserKey(iterator.key());
    if (!is_first && key == last) continue;
    if (is_first) keys->smallest = key;
    filter::FilterKeyExtractor::Hashes hashes;
    const size_t count = workload_.filter_key.NewHashes(key, is_first ? 0 : CommonPrefix(key, last),
                                                        workload_.hash_seed, &hashes);
    keys->filter_hashes.insert(keys->filter_hashes.end(), hashes.begin(), hashes.begin() + count);
    if (!workload_.keys_are_hashes) {
      keys->present.push_back(filter::HashKey(key, workload_.hash_seed));
    }
    last.assign(key);
    is_first = false;
  }
  keys->largest = last;
  if (workload_.keys_are_hashes) keys->present = keys->filter_hashes;
  std::sort(keys->present.begin(), keys->present.end());
  return iterator.status();
}

void FilterComparison::ChooseAsked(const TableKeys& keys) {
  asked_.clear();
  for (size_t i = 0; i < workload_.lookups.size(); i++) {
    if (found_[i]) continue;
    const ComparedLookup& lookup = workload_.lookups[i];
    uint64_t wanted = lookup.hash;
    if (!workload_.keys_are_hashes) {
      if (lookup.key < keys.smallest || lookup.key > keys.largest) continue;
      wanted = filter::HashKey(lookup.key, workload_.hash_seed);
    }
    if (std::binary_search(keys.present.begin(), keys.present.end(), wanted)) {
      found_[i] = true;
      num_found_++;
    } else {
      asked_.push_back(i);
    }
  }
}

void FilterComparison::CountNeedlessReads(double weight, MayContain may_contain,
                                          ComparedFilter* candidate) const {
  size_t maybe = 0;
  for (const size_t i : asked_) maybe += may_contain(workload_.lookups[i]) ? 1 : 0;
  candidate->needless_reads += static_cast<double>(maybe) * weight;
}

// By its own filter key and seed, whatever those of the comparison are. With hashes alone it can
// only be asked if they are the same.
void FilterComparison::AskPresentOne(const SstableReader& table, const TableKeys& keys,
                                     double weight, ComparedFilter* candidate) const {
  const SstableFigures& figures = table.figures();
  const PresentFilter filter(table);
  // Without a filter everything is let through, of as many keys.
  const bool has_filter = figures.filter_bytes != 0;
  const uint64_t num_keys = has_filter ? figures.num_filter_keys : keys.filter_hashes.size();
  candidate->num_keys += num_keys;
  candidate->num_bytes += filter.num_bytes;
  candidate->expected_fpr += filter.expected_fpr * static_cast<double>(num_keys);
  if (filter.units != nullptr) {
    candidate->num_units += filter.units->units().size();
    candidate->units_in_memory += filter.units->num_resident();
  }
  AskRandom(
      random_hashes_, num_keys, [&](uint64_t hash) { return filter.MayContain(hash); }, candidate);
  const bool same_hash = table.hash_seed() == workload_.hash_seed &&
                         table.filter_key().lookup_part() == workload_.filter_key.lookup_part();
  const bool is_asked = same_hash || !workload_.keys_are_hashes;
  if (!is_asked && has_filter) candidate->files_not_asked++;
  CountNeedlessReads(
      weight,
      [&](const ComparedLookup& lookup) {
        if (!is_asked) return true;
        return filter.MayContain(
            same_hash ? lookup.hash : table.filter_key().LookupHash(lookup.key, table.hash_seed()));
      },
      candidate);
}

absl::Status FilterComparison::BuildAndAsk(const TableKeys& keys, int level, double weight,
                                           ComparedFilter* candidate) {
  filter::FilterBuildContext context;
  context.level = level;
  context.num_levels = std::max(CompactionStyle().num_levels(), level + 1);
  const auto begin = std::chrono::steady_clock::now();
  WINNOW_ASSIGN_OR_RETURN(
      const auto builder,
      filter::FilterBuilder::Create(candidate->spec, workload_.hash_seed, {}, context));
  for (const uint64_t hash : keys.filter_hashes) builder->Add(hash);
  const filter::BuiltFilter built = builder->Finish();
  candidate->build_seconds += SecondsSince(begin);
  const uint64_t num_keys = built.block.empty() ? keys.filter_hashes.size() : built.num_keys;
  candidate->num_keys += num_keys;
  candidate->num_bytes += built.block.size();
  candidate->expected_fpr += built.expected_fpr * static_cast<double>(num_keys);
  candidate->fell_back = candidate->fell_back || built.fell_back;
  filter::FilterReader reader;
  if (!built.block.empty()) {
    filter::FilterState state;
    reader = filter::FilterReader::Open(built.block, &state);
    if (state.code != filter::FilterStateCode::kOk) {
      return absl::InternalError(absl::StrCat(candidate->name, ": ", state.reason));
    }
  }
  const auto ask = [&](uint64_t hash) { return reader.MayContain(hash); };
  AskRandom(random_hashes_, num_keys, ask, candidate);
  CountNeedlessReads(
      weight, [&](const ComparedLookup& lookup) { return ask(lookup.hash); }, candidate);
  return absl::OkStatus();
}

absl::Status FilterComparison::AddTable(const SstableReader& table, int level,
                                        uint64_t entries_in_level) {
  TableKeys keys;
  WINNOW_RETURN_IF_ERROR(ReadKeys(table, &keys));
  ChooseAsked(keys);
  const double weight = level == 0 || !workload_.keys_are_hashes || entries_in_level == 0
                            ? 1
                            : static_cast<double>(table.figures().num_entries) /
                                  static_cast<double>(entries_in_level);
  for (ComparedFilter& candidate : candidates_) {
    if (candidate.is_present_one) {
      AskPresentOne(table, keys, weight, &candidate);
    } else {
      WINNOW_RETURN_IF_ERROR(BuildAndAsk(keys, level, weight, &candidate));
    }
  }
  return absl::OkStatus();
}

const std::vector<ComparedFilter>& FilterComparison::Finish() {
  for (ComparedFilter& candidate : candidates_) {
    const double keys = std::max<double>(1, static_cast<double>(candidate.num_keys));
    candidate.query_ns /= keys;
    candidate.sampled_fpr /= keys;
    candidate.expected_fpr /= keys;
  }
  return candidates_;
}

}  // namespace winnow::cli
