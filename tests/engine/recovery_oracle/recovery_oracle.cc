#include "tests/engine/recovery_oracle/recovery_oracle.h"

#include <algorithm>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/coding.h"
#include "engine/log/log_format.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

constexpr char kDirectory[] = "/db";

// One set of files, before and after its repair.
class Trial {
 public:
  Trial(const AgedDatabase& database, const std::vector<Holder>& holders, const MixedFiles& mixed)
      : database_(database),
        holders_(holders),
        mixed_(mixed),
        disk_(Restore(mixed.files)),
        options_(AgedOptions(disk_.get())) {}

  std::string WhyWrong() {
    if (mixed_.files.empty()) return "";
    const auto report = RepairDatabase(options_, kDirectory);
    const bool has_any =
        std::any_of(mixed_.files.begin(), mixed_.files.end(), [](const auto& file) {
          return absl::StrContains(file.first, ".sst") || absl::StrContains(file.first, ".log") ||
                 absl::StrContains(file.first, "MANIFEST-");
        });
    if (!report.ok()) return has_any ? absl::StrCat("repair: ", report.status().ToString()) : "";
    report_ = *report;
    std::string why = WhyFileIsGone();
    if (!why.empty()) return why;
    auto db = DB::Open(options_, kDirectory);
    if (!db.ok()) return absl::StrCat("opening: ", db.status().ToString());
    const std::vector<std::string> problems = VerifyMessages(**db);
    if (!problems.empty()) return absl::StrCat("verify: ", problems.front());
    why = WhyContentsAreWrong(**db);
    if (!why.empty()) return why;
    if (!(*db)->Put(WriteOptions(), "new", "write").ok() || !(*db)->Close().ok())
      return "no writes";
    db->reset();
    const auto again = RepairDatabase(options_, kDirectory);
    if (!again.ok()) return absl::StrCat("second repair: ", again.status().ToString());
    if (again->tables_lost + again->tables_rewritten > 0 || again->manifest_rebuilt) {
      return absl::StrCat("second repair: ", absl::StrJoin(again->notes, "\n"));
    }
    return "";
  }

  std::string Notes() const { return absl::StrJoin(report_.notes, "\n"); }

 private:
  std::string WhyFileIsGone() const {
    std::multiset<std::string> kept;
    for (const std::string& directory :
         {std::string(kDirectory), absl::StrCat(kDirectory, "/lost")}) {
      const auto names = disk_->List(directory);
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        const auto bytes = ReadFile(*disk_, absl::StrCat(directory, "/", name), 1 << 20);
        if (bytes.ok()) kept.insert(*bytes);
      }
    }
    for (const auto& [name, bytes] : mixed_.files) {
      if (absl::StrContains(name, ".sst") && !kept.contains(bytes)) {
        // What is in use unchanged may be compacted with what a log holds.
        if (!report_.manifest_rebuilt) return absl::StrCat(name, " is gone");
      }
    }
    return "";
  }

  bool IsRescuable(const Holder& holder) const {
    if (holder.file_id == 0) {
      return std::any_of(mixed_.files.begin(), mixed_.files.end(), [&](const auto& file) {
        const auto& [name, bytes] = file;
        if (!absl::EndsWith(name, ".log") || !Stands(bytes, holder, holder.offset)) return false;
        // The log says which one it is; where it cannot, its name does.
        return bytes.compare(0, kLogFileHeaderBytes, holder.header) == 0 ||
               (name == holder.file &&
                !DecodeLogFileHeader(bytes.substr(0, kLogFileHeaderBytes)).ok());
      });
    }
    std::string identity;
    PutFixed64(&identity, holder.file_id);
    bool is_listed = false;
    for (const auto& [name, bytes] : mixed_.files) {
      is_listed |= absl::StartsWith(name, "MANIFEST-") && !mixed_.touched.contains(name) &&
                   absl::StrContains(bytes, identity);
    }
    for (const auto& [name, bytes] : mixed_.files) {
      if (!absl::StrContains(name, ".sst") || !HoldsInPlace(bytes, holder)) continue;
      const size_t properties = bytes.find(holder.properties);
      // Behind the properties stands the footer, whose second field is the identity.
      const bool says_itself =
          properties != std::string::npos &&
          bytes.compare(std::min(bytes.size(), properties + holder.properties.size() + 8), 8,
                        identity) == 0;
      // At the front it stands too, but nothing that says by how much the rest has moved.
      const bool header_says = bytes.compare(0, holder.header.size(), holder.header) == 0 &&
                               Stands(bytes, holder, holder.offset);
      if (is_listed || says_itself || header_says) return true;
    }
    return false;
  }

  // Where it was, or where it would be if all that was put in or taken out lay before it.
  static bool HoldsInPlace(const std::string& bytes, const Holder& holder) {
    const uint64_t moved = holder.offset + bytes.size() - holder.file_bytes;
    return Stands(bytes, holder, holder.offset) || Stands(bytes, holder, moved);
  }
  static bool Stands(const std::string& bytes, const Holder& holder, uint64_t at) {
    return at < bytes.size() && bytes.compare(at, holder.bytes.size(), holder.bytes) == 0;
  }

  bool LastStateIsUntouched() const {
    const Files& last = database_.ages.back();
    return !mixed_.has_older_files && std::all_of(last.begin(), last.end(), [&](const auto& file) {
      if (!absl::EndsWith(file.first, ".sst") && !absl::EndsWith(file.first, ".log")) {
        return true;
      }
      return std::any_of(mixed_.files.begin(), mixed_.files.end(),
                         [&](const auto& found) { return found.second == file.second; });
    });
  }

  // A log that ends early, or is not there at all, is what a crash leaves as well. But a later
  // record tells of those before it, and the manifest of a database that was closed of all.
  bool NothingTellsOfLostRecords() const {
    bool is_lost = false;
    for (const Holder& holder : holders_) {
      if (holder.file_id != 0) continue;
      const bool is_rescuable = IsRescuable(holder);
      if (is_lost && is_rescuable) return false;
      is_lost |= !is_rescuable;
    }
    return is_lost && !(database_.is_closed && ManifestsAreUntouched());
  }

  bool ManifestsAreUntouched() const {
    return std::none_of(mixed_.touched.begin(), mixed_.touched.end(), [](const std::string& name) {
      return absl::StrContains(name, "MANIFEST-");
    });
  }

  // Then the manifest says which logs are needed, and none of them lacks anything.
  bool OnlyTablesAreTouched() const {
    return !mixed_.has_older_files &&
           std::all_of(mixed_.touched.begin(), mixed_.touched.end(),
                       [](const std::string& name) { return absl::EndsWith(name, ".sst"); });
  }

  std::string WhyContentsAreWrong(DB& db) const {
    std::map<uint32_t, ColumnFamily*> families;
    for (ColumnFamily* family : db.ColumnFamilies()) families[family->id()] = family;
    const auto value_of = [&](uint32_t id, const std::string& key) -> std::optional<std::string> {
      std::string value;
      const auto family = families.find(id);
      if (family == families.end()) return std::nullopt;
      const absl::Status got = db.Get(ReadOptions(), family->second, key, &value);
      return got.ok() ? std::optional(value) : std::nullopt;
    };
    bool all_right = true;
    for (const auto& [id, entries] : database_.contents) {
      for (const auto& [key, value] : entries) all_right &= value_of(id, key) == value;
    }
    // Only a manifest knows that a log is not needed any more: that of a killed process looks like
    // any other.
    const bool older_log_may_count = mixed_.has_older_files && !ManifestsAreUntouched();
    const bool only_tables_are_touched = OnlyTablesAreTouched();
    const bool may_count_twice = absl::StrContains(Notes(), "count more than once");
    for (const Holder& holder : holders_) {
      if (!IsRescuable(holder) || older_log_may_count) continue;
      // Of a family without tables and without a manifest not even the name is known.
      if (holder.file_id == 0 && !families.contains(holder.family_id)) continue;
      if (holder.family_id == database_.list_family && may_count_twice) continue;
      std::vector<std::string> keys = holder.newest_keys;
      // Operands are not replayed over tables that may have them.
      if (only_tables_are_touched && holder.family_id != database_.list_family) {
        keys.insert(keys.end(), holder.flushed_keys.begin(), holder.flushed_keys.end());
      }
      for (const std::string& key : keys) {
        const std::string& value = database_.contents.at(holder.family_id).at(key);
        const std::optional<std::string> found = value_of(holder.family_id, key);
        if (found != value) {
          return absl::StrCat("family ", holder.family_id, ", ", key, " of ", holder.file, ": '",
                              found.value_or("(absent)"), "' instead of '", value, "'");
        }
      }
    }
    const bool nothing_may_come_back = LastStateIsUntouched();
    for (const auto& [id, family] : families) {
      const auto iterator = db.NewIterator(ReadOptions(), family);
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        const std::string key(iterator->key());
        if (id == database_.list_family && may_count_twice) continue;
        if (!HasBeen(id, key, std::string(iterator->value()))) {
          return absl::StrCat(key, " never had the value '", std::string(iterator->value()), "'");
        }
        if (nothing_may_come_back && !database_.contents.at(id).contains(key)) {
          return absl::StrCat("deleted ", key, " of family ", id, " is back");
        }
      }
      // The name of its operator stands in manifests and in the properties of its tables alone.
      const bool has_no_operator = id == database_.list_family && report_.manifest_rebuilt &&
                                   absl::IsFailedPrecondition(iterator->status());
      if (!iterator->status().ok() && !has_no_operator) return iterator->status().ToString();
    }
    const bool says_nothing =
        report_.tables_lost == 0 && report_.tables_rewritten == 0 && report_.notes.empty();
    return all_right || !says_nothing || NothingTellsOfLostRecords() ? ""
                                                                     : "loses keys without a word";
  }

  // Of a list numbers may be gone, but none is there twice or in another's place.
  bool HasBeen(uint32_t id, const std::string& key, const std::string& value) const {
    const auto had = database_.values.find({id, key});
    if (had == database_.values.end()) return false;
    if (id != database_.list_family) return had->second.contains(value);
    uint64_t last = 0;
    for (const auto number_text : absl::StrSplit(value, kListDelimiter)) {
      uint64_t number = 0;
      if (!had->second.contains(std::string(number_text)) ||
          !absl::SimpleAtoi(number_text, &number) || number <= last) {
        return false;
      }
      last = number;
    }
    return true;
  }

  const AgedDatabase& database_;
  const std::vector<Holder>& holders_;
  const MixedFiles& mixed_;
  const std::unique_ptr<RecordingFileSystem> disk_;
  const Options options_;
  RepairReport report_;
};

}  // namespace

RecoveryOracle::RecoveryOracle(AgedDatabase database, AgedDatabase other)
    : database_(std::move(database)), other_(std::move(other)), holders_(HoldersOf(database_)) {}

std::string RecoveryOracle::WhyWrong(const std::vector<Mixup>& mixups, uint64_t seed) const {
  MixedFiles mixed;
  mixed.files = database_.ages.back();
  for (const Mixup mixup : mixups) Apply(mixup, ++seed, database_, other_, &mixed);
  Trial trial(database_, holders_, mixed);
  const std::string why = trial.WhyWrong();
  return why.empty() ? "" : absl::StrCat(why, "\ndone: ", mixed.done, "\nreport:\n", trial.Notes());
}

std::vector<Mixup> RandomMixups(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Mixup> mixups;
  for (uint64_t count = 1 + random() % 3; count > 0; count--) {
    mixups.push_back(static_cast<Mixup>(1 + random() % (static_cast<uint64_t>(Mixup::kEnd) - 1)));
  }
  return mixups;
}

}  // namespace winnow
