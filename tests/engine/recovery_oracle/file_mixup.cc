#include "tests/engine/recovery_oracle/file_mixup.h"

#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace winnow {
namespace {

class Mixer {
 public:
  Mixer(uint64_t seed, const AgedDatabase& database, const AgedDatabase& other, MixedFiles* mixed)
      : random_(seed), database_(database), other_(other), mixed_(*mixed), files_(mixed->files) {}

  void Do(Mixup mixup) {
    switch (mixup) {
      case Mixup::kRemoveTable:
        return Remove(Any(".sst"));
      case Mixup::kRemoveManifest:
        return Remove(Any("MANIFEST-"));
      case Mixup::kRemoveCurrent:
        return Remove("CURRENT");
      case Mixup::kSwapTables:
      case Mixup::kRenameTable:
      case Mixup::kCopyTable:
        return Move(mixup, ".sst");
      case Mixup::kUnfinishedTables:
        for (const auto& [name, bytes] : database_.unfinished) {
          if (Below(2) == 0 && !files_.contains(name)) Put(name, bytes);
        }
        return;
      case Mixup::kCutManifest:
      case Mixup::kFlipInManifest:
        return DamageManifest(mixup);
      case Mixup::kAgeManifest:
        return AgeManifest();
      case Mixup::kAgeLog:
        return AgeLog();
      case Mixup::kForeignTable:
        return Foreign(".sst");
      case Mixup::kForeignManifest:
        for (const auto& [name, bytes] : other_.ages.back()) {
          if (name == "CURRENT" || absl::StartsWith(name, "MANIFEST-")) Put(name, bytes);
        }
        return;
      case Mixup::kRemoveLog:
        return Remove(Any(".log"));
      case Mixup::kCopyLog:
      case Mixup::kSwapLogs:
        return Move(mixup, ".log");
      case Mixup::kCutLog:
      case Mixup::kAppendToLog:
      case Mixup::kFlipInLog:
        return Damage(Any(".log"), mixup);
      case Mixup::kForeignLog:
        return Foreign(".log");
      case Mixup::kCutCurrent:
        return Damage("CURRENT", mixup);
      case Mixup::kForeignCurrent:
        return Put("CURRENT", other_.ages.back().at("CURRENT"));
      case Mixup::kRemoveFilter:
        return Remove(Any(".flt"));
      case Mixup::kCutFilter:
      case Mixup::kFlipInFilter:
        return Damage(Any(".flt"), mixup);
      case Mixup::kForeignFilter:
        return Foreign(".flt");
      default:
        return DamageTable(mixup);
    }
  }

 private:
  uint64_t Below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  std::string Any(const std::string& part) { return AnyOf(files_, part); }
  std::string AnyOf(const Files& files, const std::string& part) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files) {
      if (absl::StrContains(name, part)) names.push_back(name);
    }
    return names.empty() ? "" : names[Below(names.size())];
  }

  void Touch(const std::string& name, const std::string& what) {
    mixed_.touched.insert(name);
    absl::StrAppend(&mixed_.done, what, " ", name, "; ");
  }
  void Put(const std::string& name, const std::string& bytes) {
    Touch(name, "put");
    files_[name] = bytes;
  }
  void Remove(const std::string& name) {
    Touch(name, "remove");
    files_.erase(name);
  }

  // A table or a log, by its suffix, into the place of another or under a new name.
  void Move(Mixup mixup, const std::string& suffix) {
    const std::string from = Any(suffix);
    const bool is_new = mixup == Mixup::kRenameTable || mixup == Mixup::kCopyLog;
    const std::string to = is_new ? NewName(suffix) : Any(suffix);
    if (from.empty() || from == to) return;
    absl::StrAppend(&mixed_.done, "from ", from, " to ");
    Touch(to, MixupName(mixup));
    if (mixup == Mixup::kSwapTables || mixup == Mixup::kSwapLogs) {
      std::swap(files_[from], files_[to]);
    } else {
      files_[to] = files_[from];
      if (mixup == Mixup::kRenameTable) files_.erase(from);
    }
  }

  // Mostly few bytes: a footer or a part of one.
  uint64_t Length(uint64_t limit) {
    static constexpr uint64_t kLengths[] = {1, 2, 7, 8, 16, 100, 127, 128, 129, 300, 900};
    const uint64_t length = Below(3) == 0 ? Below(limit) + 1 : kLengths[Below(std::size(kLengths))];
    return std::min(length, limit);
  }

  void DamageTable(Mixup mixup) {
    const std::string name = Any(".sst");
    if (name.empty() || files_[name].empty()) return;
    std::string& bytes = files_[name];
    const uint64_t length = Length(bytes.size());
    const uint64_t at = Below(bytes.size());
    Touch(name, absl::StrCat(MixupName(mixup), " ", length, " bytes at ", at, " of"));
    std::string junk(length, '\0');
    for (char& byte : junk) byte = static_cast<char>(Below(3) == 0 ? 0 : random_());
    if (mixup == Mixup::kCutTable) bytes.resize(bytes.size() - length);
    if (mixup == Mixup::kCutTableFront) bytes.erase(0, length);
    if (mixup == Mixup::kAppendToTable) bytes += junk;
    if (mixup == Mixup::kPrependToTable) bytes.insert(0, junk);
    if (mixup == Mixup::kEraseInTable) bytes.erase(at, length);
    if (mixup == Mixup::kFlipInTable) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
    if (mixup == Mixup::kZeroInTable) {
      bytes.replace(at, std::min<uint64_t>(length, bytes.size() - at),
                    std::min<uint64_t>(length, bytes.size() - at), '\0');
    }
  }

  // Of a log, a filter file or CURRENT: its end is cut off or grows, or one bit is another.
  void Damage(const std::string& name, Mixup mixup) {
    if (!files_.contains(name) || files_[name].empty()) return;
    std::string& bytes = files_[name];
    if (mixup == Mixup::kFlipInLog || mixup == Mixup::kFlipInFilter) {
      const uint64_t at = Below(bytes.size());
      Touch(name, absl::StrCat(MixupName(mixup), " at ", at, " of"));
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
      return;
    }
    const uint64_t length = Length(bytes.size());
    Touch(name, absl::StrCat(MixupName(mixup), " ", length, " bytes of"));
    if (mixup == Mixup::kAppendToLog) {
      for (uint64_t i = 0; i < length; i++) bytes.push_back(static_cast<char>(random_()));
    } else {
      bytes.resize(bytes.size() - length);
    }
  }

  void DamageManifest(Mixup mixup) {
    const std::string name = Any("MANIFEST-");
    if (name.empty() || files_[name].empty()) return;
    std::string& bytes = files_[name];
    const uint64_t at = Below(bytes.size());
    Touch(name, absl::StrCat(MixupName(mixup), " at ", at, " of"));
    if (mixup == Mixup::kCutManifest) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
    }
  }

  const Files& AnAge() { return database_.ages[Below(database_.ages.size() - 1)]; }

  void AgeManifest() {
    const Files& age = AnAge();
    if (Below(2) == 0) {
      for (std::string name = Any("MANIFEST-"); !name.empty(); name = Any("MANIFEST-"))
        Remove(name);
    }
    for (const auto& [name, bytes] : age) {
      if (name == "CURRENT" || absl::StartsWith(name, "MANIFEST-")) Put(name, bytes);
    }
  }

  void AgeLog() {
    const Files& age = AnAge();
    const std::string name = AnyOf(age, ".log");
    if (name.empty() || files_.contains(name)) return;
    Put(name, age.at(name));
    mixed_.has_older_files = true;
  }

  void Foreign(const std::string& suffix) {
    const Files& foreign = other_.ages.back();
    const std::string from = AnyOf(foreign, suffix);
    if (from.empty()) return;
    const std::string to = Below(2) == 0 ? Any(suffix) : NewName(suffix);
    if (!to.empty()) Put(to, foreign.at(from));
  }

  std::string NewName(const std::string& suffix) {
    return absl::StrCat("000", 100 + Below(800), suffix);
  }

  std::mt19937_64 random_;
  const AgedDatabase& database_;
  const AgedDatabase& other_;
  MixedFiles& mixed_;
  Files& files_;
};

}  // namespace

const char* MixupName(Mixup mixup) {
  static constexpr const char* kNames[] = {
      "nothing",          "remove table",    "remove manifest",   "remove CURRENT",
      "swap tables",      "rename table",    "copy table",        "cut table",
      "cut table front",  "append to table", "prepend to table",  "erase in table",
      "flip in table",    "zero in table",   "unfinished tables", "cut manifest",
      "flip in manifest", "age manifest",    "age log",           "foreign table",
      "foreign manifest", "remove log",      "cut log",           "append to log",
      "flip in log",      "copy log",        "swap logs",         "foreign log",
      "cut CURRENT",      "foreign CURRENT", "remove filter",     "cut filter",
      "flip in filter",   "foreign filter"};
  static_assert(std::size(kNames) == static_cast<size_t>(Mixup::kEnd));
  return kNames[static_cast<size_t>(mixup)];
}

void Apply(Mixup mixup, uint64_t seed, const AgedDatabase& database, const AgedDatabase& other,
           MixedFiles* mixed) {
  if (mixup != Mixup::kNothing) Mixer(seed, database, other, mixed).Do(mixup);
}

}  // namespace winnow
