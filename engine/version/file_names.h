// The names of a database's files.
//
//   LOCK              held while the database is open
//   CURRENT           names the manifest in force
//   MANIFEST-000005   the log of version edits
//   000012.log        a write-ahead log
//   000013.sst        an SSTable
//   000014.flt        a filter file: another filter for an SSTable
//   LOG, LOG.old, ... what happened, for people; LOG.old.2 is older than LOG.old
//   STATISTICS        what has been counted; STATISTICS.old is the one before
//   *.tmp             being written; removed when the database is opened
#ifndef WINNOW_ENGINE_VERSION_FILE_NAMES_H_
#define WINNOW_ENGINE_VERSION_FILE_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow {

enum class FileType {
  kLock,
  kCurrent,
  kManifest,
  kLog,
  kSstable,
  kFilterFile,
  kInfoLog,
  kStatistics,
  kTemporary
};

std::string LockFileName(std::string_view directory);
std::string CurrentFileName(std::string_view directory);
std::string ManifestFileName(std::string_view directory, uint64_t number);
std::string LogFileName(std::string_view directory, uint64_t number);
std::string SstableFileName(std::string_view directory, uint64_t number);
// The same without the directory.
std::string SstableName(uint64_t number);
std::string FilterFileName(std::string_view directory, uint64_t number);
// The same without the directory.
std::string FilterName(uint64_t number);
// `age` 0 is LOG, 1 LOG.old, 2 LOG.old.2, ...
std::string InfoLogFileName(std::string_view directory, uint64_t age);
std::string StatisticsFileName(std::string_view directory);
std::string OldStatisticsFileName(std::string_view directory);

// Numbers are below this, in names and in manifests: a foreign or adversarial one cannot make the
// count of files begin again at 0.
inline constexpr uint64_t kFileNumberLimit = uint64_t{1} << 60;

// False if the name (without directory) is none of the above; `*number` is 0 where there is none.
bool ParseFileName(std::string_view name, FileType* type, uint64_t* number);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FILE_NAMES_H_
