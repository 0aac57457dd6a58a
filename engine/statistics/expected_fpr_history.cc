#include "engine/statistics/expected_fpr_history.h"

#include <limits>
#include <optional>

#include "engine/sstable/sstable_reader.h"
#include "engine/version/sstable_file.h"

namespace winnow {

namespace {

// The mean over files, by entries: look-ups that spread over the keys of a level meet its files in
// that proportion. It can only be compared with what was measured if they do.
struct WeightedRate {
  double weighted = 0;
  double entries = 0;

  void Add(const SstableFile& file) {
    // A file without any part of its filter in memory is not asked, and no look-up that is counted
    // was let through by it.
    const std::optional<double> rate = RateInMemory(*file.reader());
    if (!rate.has_value()) return;
    const auto file_entries = static_cast<double>(file.metadata().num_entries);
    weighted += *rate * file_entries;
    entries += file_entries;
  }

  // With the units that are in memory now; nothing: none is.
  static std::optional<double> RateInMemory(const SstableReader& reader) {
    const FilterUnits* const units = reader.filter_units();
    if (units == nullptr) return reader.figures().expected_fpr;
    const size_t resident = units->num_resident();
    if (resident == 0) return std::nullopt;
    double rate = 1;
    for (size_t i = 0; i < resident; i++) rate *= units->units()[i].expected_fpr;
    return rate;
  }
};

}  // namespace

// Counters are kept by level and kind and never reset, while files come and go. A compaction that
// empties a level leaves its counters behind, and the rate that they are to be held against must
// stay with them.
void ExpectedFprHistory::Remember(const Version& version) {
  for (int level = 0; level < kNumLevels; level++) {
    std::map<size_t, WeightedRate> rates;  // by kind
    for (const auto& file : version.files(level)) {
      // A file that could not be opened has no filter that answers, and no properties to read.
      if (file->reader() != nullptr) rates[file->filter_kind_index()].Add(*file);
    }
    for (const auto& [kind, rate] : rates) {
      if (rate.entries > 0) last_[{level, kind}] = rate.weighted / rate.entries;
    }
  }
}

double ExpectedFprHistory::Of(const Version& version, int level, size_t kind) const {
  WeightedRate rate;
  for (const auto& file : version.files(level)) {
    if (file->reader() != nullptr && file->filter_kind_index() == kind) rate.Add(*file);
  }
  // What is there now comes first; what was remembered is older.
  if (rate.entries > 0) return rate.weighted / rate.entries;
  // NaN and not 0, which would be a promise: nothing is known of a level that never had such a
  // filter.
  const auto last = last_.find({level, kind});
  return last == last_.end() ? std::numeric_limits<double>::quiet_NaN() : last->second;
}

}  // namespace winnow
