#include "tests/engine/crash/kill_campaign.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/verify_messages.h"

namespace winnow {

KillCampaign::KillCampaign(std::string writer, const std::string& directory, uint64_t seed)
    : program_(std::move(writer)), database_(directory + "/db"), random_(seed) {}

KillCampaign::~KillCampaign() {
  if (writer_ > 0) Kill();
}

void KillCampaign::Fail(uint64_t* count, const std::string& why) {
  (*count)++;
  if (outcome_.first_failure.empty()) {
    outcome_.first_failure = absl::StrCat("kill ", outcome_.kills, ": ", why);
  }
}

bool KillCampaign::StartWriter() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  writer_ = fork();
  if (writer_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(program_.c_str(), program_.c_str(), database_.c_str(),
          IsUnderBudget() ? "budget" : static_cast<const char*>(nullptr),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  acknowledgements_ = ends[0];
  return writer_ > 0;
}

bool KillCampaign::ReadAcknowledgement() {
  Acknowledgement acknowledgement;
  size_t have = 0;
  while (have < sizeof(acknowledgement)) {
    const ssize_t got = read(acknowledgements_, reinterpret_cast<char*>(&acknowledgement) + have,
                             sizeof(acknowledgement) - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  acknowledged_.at(acknowledgement.thread) = acknowledgement.number;
  outcome_.acknowledged++;
  outcome_.synced += IsSynced(acknowledgement.number) ? 1 : 0;
  return true;
}

void KillCampaign::Kill() {
  kill(writer_, SIGKILL);
  while (ReadAcknowledgement()) {
  }
  int status = 0;
  waitpid(writer_, &status, 0);
  outcome_.kills++;
  if (!WIFSIGNALED(status)) {
    Fail(&outcome_.other, absl::StrCat("the writer ended by itself: ", status));
  }
  close(acknowledgements_);
  writer_ = -1;
}

void KillCampaign::KillOnce() {
  if (!StartWriter()) {
    Fail(&outcome_.other, "the writer could not be started");
    return;
  }
  // None: killed while it opens the database, or before.
  const uint64_t until = random_() % 6 == 0 ? 0 : outcome_.acknowledged + random_() % 3000;
  while (outcome_.acknowledged < until && ReadAcknowledgement()) {
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random_() % 20000));
  Kill();
  CheckDatabase();
}

void KillCampaign::CheckRows(int thread, uint64_t last,
                             const std::map<std::string, std::string>& found) {
  for (uint64_t n = FirstRow(last); n <= last; n++) {
    const auto row = found.find(RowKey(thread, n));
    if (row == found.end()) {
      // The newest batch holds its own number: without its row it is torn, not lost.
      Fail(n == last ? &outcome_.torn_batches : &outcome_.holes,
           absl::StrCat(RowKey(thread, n), " is missing, the newest is ", last));
    } else if (row->second != RowValue(thread, n)) {
      Fail(&outcome_.other, absl::StrCat(RowKey(thread, n), " has a wrong value"));
    }
  }
}

void KillCampaign::CheckFamily(DB& db, ColumnFamily* family, Numbers* last) {
  std::map<std::string, std::string> found;
  const auto iterator = db.NewIterator(ReadOptions(), family);
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    found.emplace(iterator->key(), iterator->value());
  }
  if (!iterator->status().ok()) Fail(&outcome_.other, iterator->status().ToString());
  size_t expected_rows = 0;
  for (int thread = 0; thread < kWriterThreads; thread++) {
    const auto row = found.find(LastRowKey(thread));
    const uint64_t number =
        row == found.end() ? 0 : std::strtoull(row->second.c_str(), nullptr, 10);
    const uint64_t acknowledged = acknowledged_.at(static_cast<size_t>(thread));
    for (uint64_t lost = number + 1; lost <= acknowledged; lost++) {
      outcome_.synced_lost += IsSynced(lost) ? 1 : 0;
      Fail(&outcome_.lost, absl::StrCat("acknowledged batch ", lost, " of thread ", thread,
                                        " is not there, ", number, " is"));
    }
    if (number > acknowledged + 1) {
      Fail(&outcome_.other, absl::StrCat("batch ", number, " was never written"));
    }
    last->at(static_cast<size_t>(thread)) = number;
    CheckRows(thread, number, found);
    if (number == 0) continue;
    expected_rows += 1 + number - FirstRow(number) + 1;
    if (family != db.DefaultColumnFamily()) continue;
    expected_rows++;
    const auto sum = found.find(SumKey(thread));
    if (sum == found.end() || sum->second != SumAfter(number)) {
      Fail(&outcome_.torn_batches,
           absl::StrCat(SumKey(thread), " is not the sum of ", number, " operands"));
    }
  }
  if (found.size() > expected_rows) {
    Fail(&outcome_.resurrected_deletes,
         absl::StrCat(found.size() - expected_rows, " rows are there that were deleted"));
  }
}

void KillCampaign::CheckDatabase() {
  // Under the budget after a process that had none, and the other way round.
  auto db = DB::Open(IsUnderBudget() ? KillTestOptionsUnderBudget() : KillTestOptions(), database_);
  if (!db.ok()) {
    Fail(&outcome_.other, db.status().ToString());
    return;
  }
  const std::string recovery = *(*db)->GetProperty("winnow.recovery");
  if (!recovery.empty()) Fail(&outcome_.other, recovery);
  Numbers last = {};
  CheckFamily(**db, (*db)->DefaultColumnFamily(), &last);
  const auto second = (*db)->FindColumnFamily("second");
  if (second.ok()) {
    Numbers last_of_second = {};
    CheckFamily(**db, *second, &last_of_second);
    if (last != last_of_second) {
      Fail(&outcome_.torn_batches, "a batch over two column families is in one of them");
    }
  } else if (outcome_.acknowledged > 0) {
    Fail(&outcome_.other, "the second column family is missing");
  }
  acknowledged_ = last;
  if ((*db)->GetStatistics().Get(Ticker::kFiltersDamaged) > 0) {
    Fail(&outcome_.other, "a filter is damaged");
  }
  for (const std::string& problem : VerifyMessages(**db)) Fail(&outcome_.other, problem);
  const absl::Status closed = (*db)->Close();
  if (!closed.ok()) Fail(&outcome_.other, closed.ToString());
}

}  // namespace winnow
