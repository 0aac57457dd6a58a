// A process that writes to a database in the real file system is killed with signal 9, again and
// again; what it said was acknowledged is the truth that the database is compared with.
#ifndef WINNOW_TESTS_ENGINE_CRASH_KILL_CAMPAIGN_H_
#define WINNOW_TESTS_ENGINE_CRASH_KILL_CAMPAIGN_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "tests/engine/crash/kill_test_rows.h"

namespace winnow {

struct KillOutcome {
  uint64_t kills = 0;
  uint64_t acknowledged = 0;
  uint64_t synced = 0;  // of the acknowledged
  uint64_t lost = 0;    // acknowledged writes that are not there
  uint64_t synced_lost = 0;
  uint64_t holes = 0;  // rows missing although later ones of the same thread are there
  uint64_t torn_batches = 0;
  uint64_t resurrected_deletes = 0;
  uint64_t other = 0;  // does not open, damage, rows that were never written
  std::string first_failure;

  uint64_t failures() const { return lost + holes + torn_batches + resurrected_deletes + other; }
};

class KillCampaign {
 public:
  // The database is `directory`/db, written to by the program at `writer`.
  KillCampaign(std::string writer, const std::string& directory, uint64_t seed);
  ~KillCampaign();  // kills what still runs
  KillCampaign(const KillCampaign&) = delete;
  KillCampaign& operator=(const KillCampaign&) = delete;

  // Starts the writer, lets it write for a random while, kills it, checks the database.
  void KillOnce();

  // The same in steps. False if there is no such process, or it has ended.
  bool StartWriter();
  bool ReadAcknowledgement();
  void Kill();
  void CheckDatabase();

  const std::string& database() const { return database_; }
  pid_t writer() const { return writer_; }
  const KillOutcome& outcome() const { return outcome_; }

 private:
  using Numbers = std::array<uint64_t, kWriterThreads>;

  // Every second time, so that each opening finds what the other way has written.
  bool IsUnderBudget() const { return outcome_.kills % 2 == 1; }
  // Counts the breaches in a family; `*last` becomes the newest batch of each thread.
  void CheckFamily(DB& db, ColumnFamily* family, Numbers* last);
  void CheckRows(int thread, uint64_t last, const std::map<std::string, std::string>& found);
  void Fail(uint64_t* count, const std::string& why);

  const std::string program_;
  const std::string database_;
  std::mt19937_64 random_;
  pid_t writer_ = -1;
  int acknowledgements_ = -1;
  Numbers acknowledged_ = {};
  KillOutcome outcome_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CRASH_KILL_CAMPAIGN_H_
