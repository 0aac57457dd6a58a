// The filters of a database's trees as the planner sees them, and how often each was asked.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_TREE_FILTERS_H_
#define WINNOW_ENGINE_FILTER_MEMORY_TREE_FILTERS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/filter_memory/filter_plan.h"
#include "engine/version/version.h"
#include "winnow/filter/spec.h"

namespace winnow {

// One column family at one moment.
struct FamilyTree {
  uint32_t id = 0;
  std::string name;
  filter::FilterSpec spec;
  std::shared_ptr<const Version> version;
  int num_levels = kNumLevels;  // that its compaction style makes use of
  // Filter keys of the table that its next flush will write, as far as they are known.
  double expected_flush_keys = 0;
  // Its tables may be given other filters, but for those on levels that are about to be compacted.
  bool may_refilter = false;
  std::array<bool, kNumLevels> is_due = {};
  // Of tables to come.
  std::string filter_key;  // as text
  uint64_t hash_seed = 0;
};

// One table's filter.
struct TreeFilter {
  size_t family = 0;  // in the span of trees
  int level = 0;
  const SstableFile* file = nullptr;
  double num_keys = 0;      // that its filter has, or one that it is given is expected to have
  PlannedFilter planned;    // look-ups a second
  bool can_change = false;  // its units come and go; else all of it is there, or nothing
  bool is_of_last_level = false;
};

// What look-ups of a sorted run came to.
struct RunLookups {
  double absent = 0;   // keys that it does not hold
  double present = 0;  // and those that it does

  double all() const { return absent + present; }
  double present_share() const { return all() > 0 ? present / all() : 0; }
};

// Look-ups that filters could refute, by table and decayed over time: a look-up of five minutes ago
// counts half. For one thread.
class LookupHistory {
 public:
  // Look-ups a second of a sorted run of each column family, by name, as an earlier opening
  // measured them: they stand where nothing has been measured yet.
  void Expect(std::map<std::string, double> run_rates) { expected_ = std::move(run_rates); }

  // Adds what was counted since the last call, `seconds` ago. Forgets tables that are gone.
  void Observe(std::span<const FamilyTree> trees, double seconds);

  // Of look-ups that found their key on a level, where filters were asked; after Observe.
  void AddHits(uint32_t family_id, int level, double hits);

  // Of each table's filter that is, or could be, in memory, by family and level. Where little has
  // been measured the tables of a sorted run share evenly, by their keys, in what its family's runs
  // are asked.
  std::vector<TreeFilter> FiltersOf(std::span<const FamilyTree> trees) const;
  // With tables that have none, or one that is damaged: those have no steps.
  std::vector<TreeFilter> TablesOf(std::span<const FamilyTree> trees) const;

  // Look-ups a second of what is not there in a sorted run of each family, as FiltersOf has it for
  // those that were asked little: measured, at least a small share of what the busiest family has,
  // and 1 for each where nothing has been measured.
  std::vector<double> RunRates(std::span<const FamilyTree> trees) const;
  // How many look-ups a second come to each level of a family and do not end there, by the levels
  // at which look-ups of present keys end. 0 where nothing is measured.
  using LevelRates = std::array<double, kNumLevels>;
  std::vector<LevelRates> RatesByLevel(std::span<const FamilyTree> trees) const;
  // As far as they are measured, of the last level that has tables.
  RunLookups OfLastLevel(const FamilyTree& tree) const;
  // The measured ones, summed over families; 0: none were.
  double LookupsPerSecond(std::span<const FamilyTree> trees) const;
  // For how long at most: decayed as look-ups are, so that a rate times this is what was counted.
  double MeasuredSeconds() const { return seconds_; }
  // Look-ups a second of the table's filter since then: of what FiltersOf has, the measured part.
  double MeasuredLookups(const SstableFile& file) const;
  // Counted by the last Observe.
  double LastLookups(const SstableFile& file) const;

 private:
  struct Asked {
    uint64_t counted = 0;       // SstableFile::refutable_lookups at the last call
    double lookups = 0;         // decayed
    double last_lookups = 0;    // counted at the last call
    uint64_t counted_hits = 0;  // SstableFile::unasked_hits
    double unasked_hits = 0;    // decayed
    double seconds = 0;         // decayed, over which they were counted
  };

  static int LastLevel(const Version& version);
  // Decayed: where filters were asked, and where there was none to ask.
  double Hits(const FamilyTree& tree, int level) const;
  double MeasuredRate(const SstableFile& file) const;
  double MeasuredRate(const Version& version, int level) const;
  double RunRate(const FamilyTree& tree) const;

  std::unordered_map<uint64_t, Asked> tables_;             // by number
  std::map<std::pair<uint32_t, int>, double> asked_hits_;  // decayed, by family and level
  std::map<std::string, double> expected_;
  double seconds_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_TREE_FILTERS_H_
