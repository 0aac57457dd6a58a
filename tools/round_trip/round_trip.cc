#include "tools/round_trip/round_trip.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/round_trip/absent_keys.h"
#include "winnow/db.h"

namespace winnow::round_trip {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr uint64_t kSeed = 20260101;

// The filters' counters for single look-ups, summed over levels.
struct FilterCounts {
  uint64_t checked = 0;
  uint64_t rejected = 0;
  uint64_t false_positives = 0;
};

FilterCounts CountFilters(const Statistics& statistics) {
  FilterCounts counts;
  for (const FilterStatistics& row : statistics.filters) {
    if (row.call != FilterCall::kGet) continue;
    counts.checked += row.checked;
    counts.rejected += row.rejected;
    counts.false_positives += row.false_positive;
  }
  return counts;
}

// What the files promise, weighted by the look-ups that found nothing; 0 where there were none.
// Levels that hold no file any more promise nothing (NaN).
double PromisedFpr(const Statistics& statistics) {
  double promised_false_positives = 0;
  double misses = 0;
  for (const FilterStatistics& row : statistics.filters) {
    if (row.call != FilterCall::kGet || std::isnan(row.promised_fpr)) continue;
    const double row_misses = static_cast<double>(row.rejected + row.false_positive);
    promised_false_positives += row.promised_fpr * row_misses;
    misses += row_misses;
  }
  return misses == 0 ? 0 : promised_false_positives / misses;
}

// Measures one phase on an open database, from construction to Finish.
class PhaseMeasurement {
 public:
  PhaseMeasurement(DB* db, std::string name)
      : db_(db), before_(db->GetStatistics()), started_(std::chrono::steady_clock::now()) {
    phase_.name = std::move(name);
  }

  Phase Finish(uint64_t operations, uint64_t found) {
    phase_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    phase_.operations = operations;
    phase_.found = found;
    const Statistics after = db_->GetStatistics();
    phase_.data_blocks_read =
        after.Get(Ticker::kDataBlocksRead) - before_.Get(Ticker::kDataBlocksRead);
    const FilterCounts old_counts = CountFilters(before_);
    const FilterCounts new_counts = CountFilters(after);
    phase_.filters_checked = new_counts.checked - old_counts.checked;
    phase_.filters_rejected = new_counts.rejected - old_counts.rejected;
    phase_.false_positives = new_counts.false_positives - old_counts.false_positives;
    phase_.promised_fpr = phase_.filters_checked > 0 ? PromisedFpr(after) : 0;
    return phase_;
  }

 private:
  DB* const db_;
  const Statistics before_;
  const std::chrono::steady_clock::time_point started_;
  Phase phase_;
};

// An order that has nothing to do with the keys' own.
template <typename Element>
std::vector<const Element*> Shuffled(const std::vector<Element>& elements) {
  std::vector<const Element*> order;
  order.reserve(elements.size());
  for (const Element& element : elements) order.push_back(&element);
  std::mt19937_64 random(kSeed);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

absl::Status Load(DB* db, const std::vector<Record>& records) {
  WriteBatch batch;
  for (const Record* record : Shuffled(records)) {
    batch.Put(record->key, record->value);
    if (batch.size_bytes() < kBatchBytes) continue;
    if (absl::Status written = db->Write(WriteOptions(), batch); !written.ok()) return written;
    batch.Clear();
  }
  if (absl::Status written = db->Write(WriteOptions(), batch); !written.ok()) return written;
  return db->Flush();
}

absl::Status ReadBack(DB* db, const std::vector<Record>& records) {
  std::string value;
  for (const Record* record : Shuffled(records)) {
    if (absl::Status read = db->Get(ReadOptions(), record->key, &value); !read.ok()) {
      return absl::DataLossError(absl::StrCat(record->key, ": ", read.ToString()));
    }
    if (value != record->value) {
      return absl::DataLossError(absl::StrCat(record->key, ": another value came back"));
    }
  }
  return absl::OkStatus();
}

absl::Status Scan(DB* db, const std::vector<Record>& records) {
  const std::unique_ptr<Iterator> iterator = db->NewIterator(ReadOptions());
  iterator->SeekToFirst();
  for (const Record& record : records) {
    if (!iterator->Valid() && !iterator->status().ok()) return iterator->status();
    if (!iterator->Valid() || iterator->key() != record.key || iterator->value() != record.value) {
      return absl::DataLossError(absl::StrCat("the scan does not show ", record.key));
    }
    iterator->Next();
  }
  if (iterator->Valid()) return absl::DataLossError("the scan shows a record that was not loaded");
  return iterator->status();
}

absl::Status AskAbsent(DB* db, const std::vector<std::string>& absent) {
  std::string value;
  for (const std::string* key : Shuffled(absent)) {
    const absl::Status read = db->Get(ReadOptions(), *key, &value);
    if (read.ok()) return absl::DataLossError(absl::StrCat(*key, " is absent but was found"));
    if (!absl::IsNotFound(read)) return read;
  }
  return absl::OkStatus();
}

absl::Status MeasureReads(DB* db, const std::vector<Record>& records, RoundTripResult* result) {
  PhaseMeasurement read_back(db, "read back");
  if (absl::Status done = ReadBack(db, records); !done.ok()) return done;
  result->phases.push_back(read_back.Finish(records.size(), records.size()));

  PhaseMeasurement scan(db, "scan");
  if (absl::Status done = Scan(db, records); !done.ok()) return done;
  result->phases.push_back(scan.Finish(records.size(), records.size()));

  const std::vector<std::string> absent = DeriveAbsentKeys(records);
  PhaseMeasurement ask_absent(db, "absent keys");
  if (absl::Status done = AskAbsent(db, absent); !done.ok()) return done;
  result->phases.push_back(ask_absent.Finish(absent.size(), 0));
  return absl::OkStatus();
}

void DescribeFilters(const Statistics& statistics, RoundTripResult* result) {
  uint64_t num_entries = 0;
  for (const LevelStatistics& level : statistics.levels) {
    result->filter_bytes += level.filter_bytes;
    num_entries += level.num_entries;
  }
  if (num_entries > 0) {
    result->filter_bits_per_key =
        8.0 * static_cast<double>(result->filter_bytes) / static_cast<double>(num_entries);
  }
}

}  // namespace

absl::StatusOr<RoundTripResult> RunRoundTrip(const Options& options, const std::string& path,
                                             const std::vector<Record>& records) {
  RoundTripResult result;
  result.num_records = records.size();
  for (const Record& record : records) {
    result.record_bytes += record.key.size() + record.value.size();
  }

  Options creating = options;
  creating.error_if_exists = true;
  auto created = DB::Open(creating, path);
  if (!created.ok()) return created.status();
  PhaseMeasurement load(created->get(), "load");
  if (absl::Status loaded = Load(created->get(), records); !loaded.ok()) return loaded;
  result.phases.push_back(load.Finish(records.size(), 0));
  if (absl::Status closed = (*created)->Close(); !closed.ok()) return closed;
  created->reset();

  Options reopening = options;
  reopening.create_if_missing = false;
  auto reopened = DB::Open(reopening, path);
  if (!reopened.ok()) return reopened.status();
  // Whatever the load left to compact is done first, so that the files hold still.
  if (absl::Status idle = (*reopened)->WaitForBackgroundWork(); !idle.ok()) return idle;
  DescribeFilters((*reopened)->GetStatistics(), &result);
  if (absl::Status read = MeasureReads(reopened->get(), records, &result); !read.ok()) return read;
  if (absl::Status closed = (*reopened)->Close(); !closed.ok()) return closed;
  return result;
}

}  // namespace winnow::round_trip
