// Statistics are worth little beside what a sync costs, so that nothing here is synced. A file has
// all its bytes before it gets its name, which is enough where a process is killed; against a power
// failure the one before is kept, and what is damaged counts as not there. What is saved is the
// sum of what the last opening has left, without families that were dropped, and of this one's own
// counts.
#include "engine/statistics/saved_statistics.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/statistics/statistics_report.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

constexpr std::string_view kMagic = "winnstat";
constexpr uint32_t kFormatVersion = 4;
constexpr size_t kHeaderBytes = 8 + 4 + 8;
// More than a hundred thousand column families need. A file that is larger is no such file.
constexpr uint64_t kMaxFileBytes = 256 << 20;

// The system's clock, which may be set back: differences of two such times can be negative.
uint64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now).count()));
}

// By name, and only those that are not 0, so that a counter may be added or left out between two
// versions.
void PutCounted(const CountedStatistics& counted, std::string* out) {
  uint64_t num_tickers = 0;
  for (const uint64_t value : counted.tickers) num_tickers += value != 0 ? 1 : 0;
  PutVarint64(out, num_tickers);
  for (size_t i = 0; i < counted.tickers.size(); i++) {
    if (counted.tickers[i] == 0) continue;
    PutLengthPrefixed(out, TickerName(static_cast<Ticker>(i)));
    PutVarint64(out, counted.tickers[i]);
  }
  // Families, kinds and calls by name as well: ids are of one database, and the order of kinds is
  // not promised to stay.
  PutVarint64(out, counted.filters.size());
  for (const FilterStatistics& row : counted.filters) {
    PutLengthPrefixed(out, row.column_family);
    PutVarint64(out, static_cast<uint64_t>(row.level));
    PutLengthPrefixed(out, row.kind);
    PutLengthPrefixed(out, row.part);
    PutLengthPrefixed(out, FilterCallName(row.call));
    PutVarint64(out, row.eligible - row.checked);
    PutVarint64(out, row.rejected);
    PutVarint64(out, row.true_positive);
    PutVarint64(out, row.false_positive);
    PutFixed64(out, std::bit_cast<uint64_t>(row.promised_fpr));
  }
}

bool GetTickers(std::string_view* in, CountedStatistics* counted) {
  uint64_t num_tickers;
  if (!GetVarint64(in, &num_tickers)) return false;
  for (uint64_t i = 0; i < num_tickers; i++) {
    std::string_view name;
    uint64_t value;
    if (!GetLengthPrefixed(in, &name) || !GetVarint64(in, &value)) return false;
    // A name that is not known here is of another version, and passed over.
    for (size_t ticker = 0; ticker < counted->tickers.size(); ticker++) {
      if (TickerName(static_cast<Ticker>(ticker)) == name) counted->tickers[ticker] = value;
    }
  }
  return true;
}

bool GetFilterRow(std::string_view* in, FilterStatistics* row, bool* is_known) {
  std::string_view family;
  std::string_view kind;
  std::string_view part;
  std::string_view call;
  uint64_t level;
  uint64_t not_asked;
  uint64_t promised;
  // No request for memory goes by a number that was read: rows are added as they come.
  if (!GetLengthPrefixed(in, &family) || !GetVarint64(in, &level) ||
      !GetLengthPrefixed(in, &kind) || !GetLengthPrefixed(in, &part) ||
      !GetLengthPrefixed(in, &call) || !GetVarint64(in, &not_asked) ||
      !GetVarint64(in, &row->rejected) || !GetVarint64(in, &row->true_positive) ||
      !GetVarint64(in, &row->false_positive) || !GetFixed64(in, &promised)) {
    return false;
  }
  row->column_family = std::string(family);
  row->kind = std::string(kind);
  row->part = std::string(part);
  // Sums are not stored, so that they cannot disagree with their parts.
  row->checked = row->rejected + row->true_positive + row->false_positive;
  row->eligible = row->checked + not_asked;
  row->promised_fpr = std::bit_cast<double>(promised);
  *is_known = false;
  // Kinds of calls that this version does not know have no row here.
  for (uint32_t i = 0; i < static_cast<uint32_t>(FilterCall::kCount); i++) {
    if (FilterCallName(static_cast<FilterCall>(i)) != call) continue;
    row->call = static_cast<FilterCall>(i);
    *is_known = level < 64;
  }
  // A row that is not known is dropped by the caller; its level must fit an int all the same.
  row->level = static_cast<int>(level < 64 ? level : 0);
  return true;
}

bool GetCounted(std::string_view* in, CountedStatistics* counted) {
  uint64_t num_rows;
  if (!GetTickers(in, counted) || !GetVarint64(in, &num_rows)) return false;
  for (uint64_t i = 0; i < num_rows; i++) {
    FilterStatistics row;
    bool is_known;
    if (!GetFilterRow(in, &row, &is_known)) return false;
    if (is_known) counted->filters.push_back(std::move(row));
  }
  return true;
}

bool GetNames(std::string_view* in, std::vector<std::string>* names) {
  uint64_t num_names;
  if (!GetVarint64(in, &num_names)) return false;
  for (uint64_t i = 0; i < num_names; i++) {
    std::string_view name;
    if (!GetLengthPrefixed(in, &name)) return false;
    names->emplace_back(name);
  }
  return true;
}

// Of range filters, whose promise depends on the ranges: over all that held nothing.
double MeanOfPromises(const FilterStatistics& a, const FilterStatistics& b) {
  const auto misses = [](const FilterStatistics& row) {
    return static_cast<double>(row.rejected + row.false_positive);
  };
  // NaN where nothing was missed, which must not reach the mean.
  if (misses(a) == 0) return b.promised_fpr;
  if (misses(b) == 0) return a.promised_fpr;
  return (a.promised_fpr * misses(a) + b.promised_fpr * misses(b)) / (misses(a) + misses(b));
}

// Neither absent nor damaged: what is there may be read another time.
bool MayBeReadLater(const absl::Status& status) {
  return !status.ok() && !absl::IsNotFound(status) && !absl::IsDataLoss(status);
}

absl::StatusOr<SavedStatistics> ReadOne(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_system.FileSize(path));
  if (file_bytes > kMaxFileBytes) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", file_bytes, " bytes are no file of statistics"));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file_system, path, kMaxFileBytes));
  absl::StatusOr<SavedStatistics> saved = DecodeStatistics(bytes);
  // The path says which of the two files it was.
  if (!saved.ok()) return absl::DataLossError(absl::StrCat(path, ": ", saved.status().message()));
  return saved;
}

absl::Status WriteUnsynced(FileSystem& file_system, const std::string& path,
                           std::string_view bytes) {
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          file_system.Create(path, WritableFileOptions{}));
  WINNOW_RETURN_IF_ERROR(file->Append(bytes));
  // Close hands all of it to the system: the process may be killed from here on.
  return file->Close();
}

}  // namespace

std::string EncodeStatistics(const SavedStatistics& saved) {
  std::string body;
  PutVarint64(&body, saved.saved_unix_seconds);
  PutVarint64(&body, saved.opened_unix_seconds);
  PutVarint64(&body, saved.is_closed ? 1 : 0);
  PutVarint64(&body, saved.in_all.openings);
  PutVarint64(&body, saved.in_all.since_unix_seconds);
  PutCounted(saved.since_opening, &body);
  PutCounted(saved.in_all, &body);
  PutLengthPrefixed(&body, saved.filter_budget_json);
  PutVarint64(&body, saved.families_for_hits.size());
  for (const std::string& name : saved.families_for_hits) PutLengthPrefixed(&body, name);
  std::string bytes(kMagic);
  PutFixed32(&bytes, kFormatVersion);
  PutFixed64(&bytes, Checksum(body, kFormatVersion));
  return bytes + body;
}

absl::StatusOr<SavedStatistics> DecodeStatistics(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) {
    return absl::DataLossError("not a file of statistics");
  }
  // Older and newer ones alike: counting begins again.
  const uint32_t version = DecodeFixed32(bytes.data() + 8);
  if (version != kFormatVersion) {
    return absl::DataLossError(
        absl::StrCat("statistics of format version ", version, ", not ", kFormatVersion));
  }
  std::string_view body = bytes.substr(kHeaderBytes);
  if (!ChecksumsMatch(DecodeFixed64(bytes.data() + 12), Checksum(body, version))) {
    return absl::DataLossError("wrong checksum of the statistics");
  }
  SavedStatistics saved;
  uint64_t is_closed;
  std::string_view filter_budget_json;
  if (!GetVarint64(&body, &saved.saved_unix_seconds) ||
      !GetVarint64(&body, &saved.opened_unix_seconds) || !GetVarint64(&body, &is_closed) ||
      !GetVarint64(&body, &saved.in_all.openings) ||
      !GetVarint64(&body, &saved.in_all.since_unix_seconds) ||
      !GetCounted(&body, &saved.since_opening) || !GetCounted(&body, &saved.in_all) ||
      !GetLengthPrefixed(&body, &filter_budget_json) ||
      !GetNames(&body, &saved.families_for_hits) || !body.empty()) {
    return absl::DataLossError("malformed statistics");
  }
  saved.is_closed = is_closed != 0;
  saved.filter_budget_json = std::string(filter_budget_json);
  return saved;
}

// Without a sync a power failure may leave the newest file empty, or the rename undone. The one
// before was written a minute earlier or more, and has reached the disk by then.
absl::StatusOr<SavedStatistics> ReadSavedStatistics(FileSystem& file_system,
                                                    const std::string& directory) {
  absl::StatusOr<SavedStatistics> newest = ReadOne(file_system, StatisticsFileName(directory));
  if (newest.ok()) return newest;
  absl::StatusOr<SavedStatistics> before = ReadOne(file_system, OldStatisticsFileName(directory));
  // Where neither can be read, one that may be another time is what is told; else damage of the
  // newest.
  if (before.ok() || absl::IsNotFound(newest.status())) return before;
  return MayBeReadLater(before.status()) && !MayBeReadLater(newest.status()) ? before : newest;
}

void AddStatistics(const CountedStatistics& more, CountedStatistics* sum) {
  for (size_t i = 0; i < sum->tickers.size(); i++) sum->tickers[i] += more.tickers[i];
  const auto key = [](const FilterStatistics& row) {
    return std::tuple(std::string_view(row.column_family), row.level, std::string_view(row.kind),
                      std::string_view(row.part), row.call);
  };
  // The names that keys refer to stay where they are: the rows' own vectors do not change.
  const std::vector<FilterStatistics> earlier = std::move(sum->filters);
  std::map<decltype(key(more.filters[0])), FilterStatistics> rows;
  for (const FilterStatistics& row : earlier) rows[key(row)] = row;
  for (const FilterStatistics& row : more.filters) {
    const auto [found, is_new] = rows.try_emplace(key(row), row);
    if (is_new) continue;
    FilterStatistics& total = found->second;
    if (row.kind == kRangeFilterKind) total.promised_fpr = MeanOfPromises(total, row);
    total.eligible += row.eligible;
    total.checked += row.checked;
    total.rejected += row.rejected;
    total.true_positive += row.true_positive;
    total.false_positive += row.false_positive;
    // The newest promise, which is that of the filters that are there now.
    const bool is_known = row.promised_fpr == row.promised_fpr;  // not NaN
    if (is_known && row.kind != kRangeFilterKind) total.promised_fpr = row.promised_fpr;
  }
  sum->filters.clear();
  for (auto& [unused, row] : rows) sum->filters.push_back(std::move(row));
}

absl::Status StatisticsSaver::Open(FileSystem* file_system, const std::string& directory,
                                   bool read_only) {
  file_system_ = file_system;
  directory_ = directory;
  read_only_ = read_only;
  opened_unix_seconds_ = UnixSeconds();
  {
    MutexLock lock(&mutex_);
    next_save_ = SteadyNow() + kInterval;
  }
  return ReadEarlier();
}

absl::Status StatisticsSaver::ReadEarlier() {
  absl::StatusOr<SavedStatistics> saved = ReadSavedStatistics(*file_system_, directory_);
  const absl::Status status = saved.status();
  MutexLock lock(&mutex_);
  unread_ = MayBeReadLater(status) ? status : absl::OkStatus();
  earlier_ = saved.ok() ? std::move(saved->in_all) : LifetimeStatistics();
  for (const std::string& name : dropped_while_unread_) EraseRowsOf(name);
  // Who opens read-only saves nothing, and is no opening that later ones would count.
  if (!read_only_) {
    if (earlier_.openings == 0) earlier_.since_unix_seconds = opened_unix_seconds_;
    earlier_.openings++;
  }
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

void StatisticsSaver::ReadAgain() {
  {
    MutexLock lock(&mutex_);
    if (unread_.ok()) return;
  }
  ReadEarlier().IgnoreError();  // Save tells
}

LifetimeStatistics StatisticsSaver::InAll(const CountedStatistics& since_opening) const {
  LifetimeStatistics in_all;
  {
    MutexLock lock(&mutex_);
    in_all = earlier_;
  }
  AddStatistics(since_opening, &in_all);
  return in_all;
}

void StatisticsSaver::EraseRowsOf(std::string_view family) {
  std::erase_if(earlier_.filters,
                [&](const FilterStatistics& row) { return row.column_family == family; });
}

// Two saves: what is saved next may have been summed up before.
void StatisticsSaver::ForgetFamily(std::string_view name) {
  MutexLock lock(&mutex_);
  EraseRowsOf(name);
  if (!unread_.ok()) dropped_while_unread_.emplace(name);
  saves_owed_ = 2;
}

bool StatisticsSaver::IsDue(SteadyTime now) const {
  MutexLock lock(&mutex_);
  return now >= next_save_;
}

absl::Status StatisticsSaver::Save(const CountedStatistics& since_opening,
                                   const LifetimeStatistics& in_all, FilterMemory filters,
                                   bool is_closed, SteadyTime now) {
  {
    MutexLock lock(&mutex_);
    // After a failure, too: a disk that is full is not asked at every upkeep.
    next_save_ = now + kInterval;
    if (!unread_.ok()) return unread_;
    if (!is_closed && saves_owed_ == 0 && since_opening.tickers == saved_tickers_) {
      return absl::OkStatus();
    }
  }
  SavedStatistics saved;
  saved.saved_unix_seconds = UnixSeconds();
  saved.opened_unix_seconds = opened_unix_seconds_;
  saved.is_closed = is_closed;
  saved.since_opening = since_opening;
  saved.in_all = in_all;
  saved.filter_budget_json = std::move(filters.budget_json);
  saved.families_for_hits = std::move(filters.families_for_hits);
  WINNOW_RETURN_IF_ERROR(Write(saved));
  saved_tickers_ = since_opening.tickers;
  MutexLock lock(&mutex_);
  saves_owed_ = std::max(0, saves_owed_ - 1);
  return absl::OkStatus();
}

absl::Status StatisticsSaver::Write(const SavedStatistics& saved) {
  const std::string path = StatisticsFileName(directory_);
  const std::string temporary = path + ".tmp";
  absl::Status status = WriteUnsynced(*file_system_, temporary, EncodeStatistics(saved));
  if (status.ok()) {
    // Not there the first time. A crash between the two renames leaves the old name, which is read.
    file_system_->Rename(path, OldStatisticsFileName(directory_)).IgnoreError();
    status = file_system_->Rename(temporary, path);
  }
  if (!status.ok()) file_system_->Remove(temporary).IgnoreError();
  return status;
}

}  // namespace winnow
