#include "engine/statistics/expected_fpr_history.h"

#include <limits>

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
    const auto file_entries = static_cast<double>(file.metadata().num_entries);
    weighted += file.reader()->figures().expected_fpr * file_entries;
    entries += file_entries;
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
