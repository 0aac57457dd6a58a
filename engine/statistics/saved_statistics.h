// The file STATISTICS: what a database has counted, kept across openings (FORMAT.md).
#ifndef WINNOW_ENGINE_STATISTICS_SAVED_STATISTICS_H_
#define WINNOW_ENGINE_STATISTICS_SAVED_STATISTICS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "engine/base/steady_clock.h"
#include "filter/base/mutex.h"
#include "winnow/file_system.h"
#include "winnow/statistics.h"

namespace winnow {

std::string EncodeStatistics(const SavedStatistics& saved);
// DataLoss if the bytes are not what EncodeStatistics has made. Counters that this version does not
// know are left out.
absl::StatusOr<SavedStatistics> DecodeStatistics(std::string_view bytes);

// The file in a database's directory or, if a power failure has damaged it, the one before.
// NotFound if there is neither; DataLoss if what is there is damaged; another error if one of them
// could not be read now, and may be another time.
absl::StatusOr<SavedStatistics> ReadSavedStatistics(FileSystem& file_system,
                                                    const std::string& directory);

// Adds the counts of `more`; rows of the same family, level, kind and call become one, with the
// promise of `more` where it is known.
void AddStatistics(const CountedStatistics& more, CountedStatistics* sum);

// Keeps one open database's file. Thread-safe once it is open, but for Save, which one thread at a
// time calls; no error of it harms the database: what could not be saved is saved the next time.
class StatisticsSaver {
 public:
  static constexpr std::chrono::seconds kInterval{60};

  // Reads what earlier openings have left and counts this one. DataLoss: it is damaged, and
  // counting begins again. Another error: it cannot be read now, for want of descriptors, say.
  // Nothing is saved then, which would replace it, before ReadAgain could read it.
  absl::Status Open(FileSystem* file_system, const std::string& directory, bool read_only)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Before InAll, for what is to be saved: reads what could not be read before.
  void ReadAgain() ABSL_LOCKS_EXCLUDED(mutex_);

  // What earlier openings have counted, and `since_opening`.
  LifetimeStatistics InAll(const CountedStatistics& since_opening) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The column family was dropped: nothing that earlier openings have counted belongs to another
  // one that gets its name.
  void ForgetFamily(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

  bool IsDue(SteadyTime now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // `in_all` has been made by InAll. Writes nothing if nothing has changed since it last did,
  // unless the database closes; the first time of an opening it does, to say that this one goes on.
  // `filters` as SavedStatistics has them.
  struct FilterMemory {
    std::string budget_json;
    std::vector<std::string> families_for_hits;
  };
  absl::Status Save(const CountedStatistics& since_opening, const LifetimeStatistics& in_all,
                    FilterMemory filters, bool is_closed, SteadyTime now)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status ReadEarlier() ABSL_LOCKS_EXCLUDED(mutex_);
  void EraseRowsOf(std::string_view family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(const SavedStatistics& saved);

  FileSystem* file_system_ = nullptr;
  std::string directory_;
  bool read_only_ = false;
  uint64_t opened_unix_seconds_ = 0;
  decltype(CountedStatistics::tickers) saved_tickers_{};
  mutable Mutex mutex_;                                 // a leaf
  LifetimeStatistics earlier_ ABSL_GUARDED_BY(mutex_);  // `openings` with this one
  // Why what is there is not in `earlier_` yet; meanwhile families are dropped that it may know.
  absl::Status unread_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> dropped_while_unread_ ABSL_GUARDED_BY(mutex_);
  SteadyTime next_save_ ABSL_GUARDED_BY(mutex_);
  // So many are made though nothing was counted.
  int saves_owed_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_SAVED_STATISTICS_H_
