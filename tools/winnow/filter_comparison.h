// What candidates for a database's filter would cost and save, on its own keys.
#ifndef WINNOW_TOOLS_WINNOW_FILTER_COMPARISON_H_
#define WINNOW_TOOLS_WINNOW_FILTER_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/spec.h"

namespace winnow::cli {

// One look-up that the candidates are asked about.
struct ComparedLookup {
  std::string key;    // empty where the trace has hashes alone
  uint64_t hash = 0;  // of its filter key
};

// The look-ups, and how to see which files they would come to.
struct ComparedWorkload {
  filter::FilterKeyExtractor filter_key;
  uint64_t hash_seed = 0;
  // Of keys that are known only by their hash it cannot be said which file of a level has them in
  // its range: each file below level 0 counts by its share of the level's entries.
  bool keys_are_hashes = false;
  std::vector<ComparedLookup> lookups;
};

// Figures of one candidate over all files.
struct ComparedFilter {
  std::string name;  // its spec; "now" for the filters that the files have
  filter::FilterSpec spec;
  bool is_present_one = false;
  uint64_t num_keys = 0;
  uint64_t num_bytes = 0;
  double build_seconds = 0;   // of all files, on one thread
  double query_ns = 0;        // of one file's filter, for absent keys
  double expected_fpr = 0;    // mean over the files by their keys
  double sampled_fpr = 0;     // of random hashes, likewise
  double needless_reads = 0;  // files that it let through and that lack the key, of all look-ups
  bool fell_back = false;
  // Of the present ones: their units, where filters have any, and those that are in memory; and
  // files whose filters the hashes of a trace cannot ask, so that they count as if they let
  // everything through.
  uint64_t num_units = 0;
  uint64_t units_in_memory = 0;
  uint64_t files_not_asked = 0;

  double bits_per_key() const {
    return num_keys == 0 ? 0 : 8.0 * static_cast<double>(num_bytes) / static_cast<double>(num_keys);
  }
};

// Takes the files of a family one by one, newest first: those of level 0 by falling number, then
// level by level. Nothing is written.
class FilterComparison {
 public:
  FilterComparison(ComparedWorkload workload, std::vector<ComparedFilter> candidates);

  // Reads the table once and builds each candidate from its keys; `entries_in_level` is of its
  // level. Memory: 16 bytes a key of the table, and one filter at a time. Errors of the table.
  absl::Status AddTable(const SstableReader& table, int level, uint64_t entries_in_level);

  // Once all tables have been added.
  const std::vector<ComparedFilter>& Finish();
  // How many of the look-ups were of keys that a table has.
  uint64_t num_found() const { return num_found_; }
  uint64_t num_lookups() const { return workload_.lookups.size(); }

 private:
  struct TableKeys {
    std::vector<uint64_t> filter_hashes;  // for builders
    std::vector<uint64_t> present;        // what look-ups are compared with, ascending
    std::string smallest;
    std::string largest;
  };
  using MayContain = absl::FunctionRef<bool(const ComparedLookup& lookup)>;

  absl::Status ReadKeys(const SstableReader& table, TableKeys* keys) const;
  void AskPresentOne(const SstableReader& table, const TableKeys& keys, double weight,
                     ComparedFilter* candidate) const;
  absl::Status BuildAndAsk(const TableKeys& keys, int level, double weight,
                           ComparedFilter* candidate);
  void CountNeedlessReads(double weight, MayContain may_contain, ComparedFilter* candidate) const;
  // Marks in `asked_` the look-ups that come to the table and do not find their key there.
  void ChooseAsked(const TableKeys& keys);

  const ComparedWorkload workload_;
  std::vector<ComparedFilter> candidates_;
  std::vector<uint64_t> random_hashes_;
  std::vector<bool> found_;    // by look-up: a newer table has the key
  std::vector<size_t> asked_;  // of the table at hand
  uint64_t num_found_ = 0;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_FILTER_COMPARISON_H_
