// A small database with every kind of file, as plain bytes that a test may damage, and the question
// whether what is read from it is right.
#ifndef WINNOW_TESTS_SUPPORT_DAMAGE_DATABASE_H_
#define WINNOW_TESTS_SUPPORT_DAMAGE_DATABASE_H_

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"
#include "tests/support/crash_history.h"
#include "winnow/memory_file_system.h"

namespace winnow {

// File name -> bytes.
using Files = std::map<std::string, std::string>;

struct DamageDatabase {
  Files files;
  Contents flushed;                         // what the SSTables hold
  std::vector<std::vector<Update>> logged;  // what the log adds, batch by batch
  std::vector<std::string> keys;            // all that exist, and some that do not
  std::string table_with_filter_file;       // whose own filter is not asked; empty: there is none

  // What is there if the log lacks all batches from `end` on, or only batch `without`.
  Contents WithFirst(size_t end) const;
  Contents Without(size_t batch) const { return WithoutThese({batch}); }
  Contents WithoutThese(const std::vector<size_t>& batches) const;  // ascending
  Contents All() const { return WithFirst(logged.size()); }

  // The names of files of one kind: ".sst", ".log", "MANIFEST-", "CURRENT".
  std::vector<std::string> NamesWith(const std::string& part) const;
};

inline constexpr std::array<RecoveryMode, 3> kRecoveryModes = {
    RecoveryMode::kStrict, RecoveryMode::kPointInTime, RecoveryMode::kSalvage};

enum class DatabaseEnd { kKilled, kClosed };

// A column family for each filter spec besides "default", an SSTable each, and a log of twelve
// batches. Those with a filter are compressed. "default" has two tables more: one that was
// ingested, one with a range deletion of keys of the first.
DamageDatabase BuildDamageDatabase(DatabaseEnd end, const std::vector<std::string>& filters = {
                                                        "bloom:10", "cuckoo:12", "none"});
// The same with, besides: write times of the values of "ribbon", which has no operands; a filter of
// "bloom" that is in a file of its own, cut into units; and units in the last table of "default".
DamageDatabase BuildRichDamageDatabase(DatabaseEnd end, const std::vector<std::string>& filters);
// The same with puts and deletions of keys alone, and one table for "default": of what is ingested
// no repair without a manifest knows when that was, and operands lack what they were for where a
// table is lost.
DamageDatabase BuildPlainDamageDatabase(DatabaseEnd end);

// What a killed process leaves on a disk that keeps everything, and the way back.
Files FilesOn(const RecordingFileSystem& disk);
std::unique_ptr<RecordingFileSystem> Restore(const Files& files);
Options DamageOptions(FileSystem* file_system);

// Reads all families by iterator, Get, MultiGet, Exists and MayExist. Empty if every answer is the
// expected one or an error that names a file; `*num_errors` counts the latter.
std::string WhyAnswersAreWrong(DB& db, const DamageDatabase& database, const Contents& expected,
                               size_t* num_errors);

// True for the errors that damage may cause: the code says so and the message names a file.
bool IsClearError(const absl::Status& status);

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_DAMAGE_DATABASE_H_
