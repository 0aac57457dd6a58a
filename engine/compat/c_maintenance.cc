// winnow/c.h: properties, compaction, filters, what is done to a database as a whole.
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/compat/c_handles.h"
#include "engine/compat/error_text.h"
#include "engine/compat/leveldb_properties.h"
#include "engine/statistics/statistics_report.h"
#include "winnow/repair.h"

using winnow::BytesOf;
using winnow::CopyToC;
using winnow::NullIfOutOfMemory;
using winnow::ReportFrom;
using winnow::ReportToC;

namespace winnow {

namespace {

// Null is no bound, whatever the length; an empty key is one.
std::optional<std::string_view> Bound(const char* key, size_t length) {
  if (key == nullptr) return std::nullopt;
  return BytesOf(key, length);
}

// Null for "as it was", as the empty text is in C++.
std::string_view TextOrEmpty(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Both sets of names: programs of LevelDB's C API ask for its own.
char* PropertyValue(winnow_t* db, ColumnFamily* family, const char* name) {
  return NullIfOutOfMemory([&]() -> char* {
    const std::optional<std::string> value =
        LevelDbProperty(*db->db, family, name, db->compact_range_error.Get());
    return value.has_value() ? CopyToC(*value) : nullptr;
  });
}

// Made and copied in one place: a text that lacked memory on the way is an error with null, never
// half a text.
char* ExplainText(winnow_t* db, ColumnFamily* family, std::string_view key, bool json,
                  char** errptr) {
  char* text = nullptr;
  ReportFrom(errptr, [&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const KeyExplanation explanation, db->db->Explain(family, key));
    text = CopyToC(json ? explanation.ToJson() : explanation.ToString());
    return text != nullptr ? absl::OkStatus() : OutOfMemory();
  });
  return text;
}

char* PlanText(winnow_t* db, uint64_t budget_bytes, bool json, char** errptr) {
  char* text = nullptr;
  ReportFrom(errptr, [&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const FilterPlans plans, db->db->PlanFilters(budget_bytes));
    text = CopyToC(json ? plans.ToJson() : plans.ToTable());
    return text != nullptr ? absl::OkStatus() : OutOfMemory();
  });
  return text;
}

char* ExplainRangeText(winnow_t* db, winnow_columnfamily_t* family, std::string_view lower,
                       std::string_view upper, bool json, char** errptr) {
  char* text = nullptr;
  ReportFrom(errptr, [&]() -> absl::Status {
    ColumnFamily* const asked = family == nullptr ? db->default_family : family->family;
    WINNOW_ASSIGN_OR_RETURN(const RangeExplanation explanation,
                            db->db->ExplainRange(asked, lower, upper));
    text = CopyToC(json ? explanation.ToJson() : explanation.ToString());
    return text != nullptr ? absl::OkStatus() : OutOfMemory();
  });
  return text;
}

void ApproximateSizes(winnow_t* db, ColumnFamily* family, int num_ranges, const char* const* starts,
                      const size_t* start_lengths, const char* const* limits,
                      const size_t* limit_lengths, uint64_t* sizes) {
  // One by one: there is no errptr, so that a range that cannot be answered is 0 and costs the
  // others nothing.
  for (int i = 0; i < num_ranges; i++) {
    const KeyRange range = {BytesOf(starts[i], start_lengths[i]),
                            BytesOf(limits[i], limit_lengths[i])};
    const auto bytes = db->db->GetApproximateSizes(family, {&range, 1});
    sizes[i] = bytes.ok() ? bytes->front() : 0;
  }
}

absl::Status CompactRange(winnow_t* db, ColumnFamily* family, const char* start,
                          size_t start_length, const char* limit, size_t limit_length) {
  return db->db->CompactRange(family, Bound(start, start_length), Bound(limit, limit_length));
}

}  // namespace

}  // namespace winnow

// Null both for "no such property" and for lack of memory, as LevelDB's function has no errptr.
char* winnow_property_value(winnow_t* db, const char* propname) {
  return winnow::PropertyValue(db, db->default_family, propname);
}

// Reads the file STATISTICS, which the process that has the database open keeps up to date.
char* winnow_saved_statistics(const winnow_options_t* options, const char* name, char** errptr) {
  char* text = nullptr;
  ReportFrom(errptr, [&]() -> absl::Status {
    KeptAlive kept;  // nothing outlives the call
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &kept));
    WINNOW_ASSIGN_OR_RETURN(const winnow::SavedStatistics saved,
                            winnow::DB::ReadStatistics(prepared, name));
    text = CopyToC(winnow::SavedStatisticsJson(saved));
    return text != nullptr ? absl::OkStatus() : winnow::OutOfMemory();
  });
  return text;
}

char* winnow_property_value_cf(winnow_t* db, winnow_columnfamily_t* family, const char* propname) {
  return winnow::PropertyValue(db, family->family, propname);
}

void winnow_approximate_sizes(winnow_t* db, int num_ranges, const char* const* range_start_key,
                              const size_t* range_start_key_len, const char* const* range_limit_key,
                              const size_t* range_limit_key_len, uint64_t* sizes) {
  winnow::ApproximateSizes(db, db->default_family, num_ranges, range_start_key, range_start_key_len,
                           range_limit_key, range_limit_key_len, sizes);
}

void winnow_approximate_sizes_cf(winnow_t* db, winnow_columnfamily_t* family, int num_ranges,
                                 const char* const* range_start_key,
                                 const size_t* range_start_key_len,
                                 const char* const* range_limit_key,
                                 const size_t* range_limit_key_len, uint64_t* sizes) {
  winnow::ApproximateSizes(db, family->family, num_ranges, range_start_key, range_start_key_len,
                           range_limit_key, range_limit_key_len, sizes);
}

// Without an errptr, as LevelDB's: the error is kept, for later writes and a property.
void winnow_compact_range(winnow_t* db, const char* start_key, size_t start_key_len,
                          const char* limit_key, size_t limit_key_len) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_compact_range_cf(db, &family, start_key, start_key_len, limit_key, limit_key_len);
}

void winnow_compact_range_cf(winnow_t* db, winnow_columnfamily_t* family, const char* start_key,
                             size_t start_key_len, const char* limit_key, size_t limit_key_len) {
  db->compact_range_error.Keep(
      winnow::CompactRange(db, family->family, start_key, start_key_len, limit_key, limit_key_len));
}

void winnow_compact_range_checked(winnow_t* db, const char* start_key, size_t start_key_len,
                                  const char* limit_key, size_t limit_key_len, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_compact_range_checked_cf(db, &family, start_key, start_key_len, limit_key, limit_key_len,
                                  errptr);
}

// A success ends what an earlier failure without an errptr had stopped.
void winnow_compact_range_checked_cf(winnow_t* db, winnow_columnfamily_t* family,
                                     const char* start_key, size_t start_key_len,
                                     const char* limit_key, size_t limit_key_len, char** errptr) {
  const absl::Status status =
      winnow::CompactRange(db, family->family, start_key, start_key_len, limit_key, limit_key_len);
  if (ReportToC(status, errptr)) db->compact_range_error.Keep(status);
}

// Waits until the memtables are tables on disk, as DB::Flush does.
void winnow_flush(winnow_t* db, char** errptr) {
  ReportToC(db->db->Flush(db->default_family), errptr);
}

void winnow_flush_cf(winnow_t* db, winnow_columnfamily_t* family, char** errptr) {
  ReportToC(db->db->Flush(family->family), errptr);
}

void winnow_wait_for_background_work(winnow_t* db, char** errptr) {
  ReportToC(db->db->WaitForBackgroundWork(), errptr);
}

void winnow_set_options(winnow_t* db, int count, const char* const* names,
                        const char* const* values, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_set_options_cf(db, &family, count, names, values, errptr);
}

void winnow_set_options_cf(winnow_t* db, winnow_columnfamily_t* family, int count,
                           const char* const* names, const char* const* values, char** errptr) {
  winnow::ReportFrom(errptr, [&] {
    // All of them go in one call, which takes all or, if one is wrong, none.
    std::vector<winnow::OptionSetting> settings;
    for (int i = 0; i < count; i++) settings.push_back({names[i], values[i]});
    return db->db->SetOptions(family->family, settings);
  });
}

// The value in force, changes by winnow_set_options included.
char* winnow_get_option(winnow_t* db, const char* name, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  return winnow_get_option_cf(db, &family, name, errptr);
}

char* winnow_get_option_cf(winnow_t* db, winnow_columnfamily_t* family, const char* name,
                           char** errptr) {
  return winnow::TextToC([&] { return db->db->GetOption(family->family, name); }, errptr);
}

// For tables that are written from now on; winnow_refilter is for those that there are.
void winnow_set_filter(winnow_t* db, const char* filter, const char* filter_key, char** errptr) {
  ReportToC(db->db->SetFilter(db->default_family, winnow::TextOrEmpty(filter),
                              winnow::TextOrEmpty(filter_key)),
            errptr);
}

void winnow_set_filter_cf(winnow_t* db, winnow_columnfamily_t* family, const char* filter,
                          const char* filter_key, char** errptr) {
  ReportToC(db->db->SetFilter(family->family, winnow::TextOrEmpty(filter),
                              winnow::TextOrEmpty(filter_key)),
            errptr);
}

void winnow_start_trace(winnow_t* db, const char* path, uint64_t max_bytes, uint8_t hash_keys,
                        uint32_t one_in, char** errptr) {
  winnow::TraceOptions options;
  // 0 leaves the default: a trace of no bytes would be none.
  if (max_bytes != 0) options.max_bytes = max_bytes;
  options.hash_keys = hash_keys != 0;
  options.one_in = one_in;
  winnow::ReportFrom(errptr, [&] { return db->db->StartTrace(options, path); });
}

uint64_t winnow_end_trace(winnow_t* db, char** errptr) {
  const absl::StatusOr<winnow::TraceInfo> info = db->db->EndTrace();
  winnow::ReportToC(info.status(), errptr);
  // 0 is also the count of a trace in which nothing was called: errptr tells the two apart.
  return info.ok() ? info->calls_recorded : 0;
}

// Blocks until the last file is done, unless `progress` says 0.
void winnow_refilter(winnow_t* db, const char* filter, const char* filter_key,
                     uint64_t filter_memory_budget, uint8_t (*progress)(void*, uint64_t, uint64_t),
                     void* state, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_refilter_cf(db, &family, filter, filter_key, filter_memory_budget, progress, state,
                     errptr);
}

void winnow_refilter_cf(winnow_t* db, winnow_columnfamily_t* family, const char* filter,
                        const char* filter_key, uint64_t filter_memory_budget,
                        uint8_t (*progress)(void*, uint64_t, uint64_t), void* state,
                        char** errptr) {
  winnow::ReportFrom(errptr, [&]() -> absl::Status {
    winnow::RefilterOptions options;
    options.filter = winnow::TextOrEmpty(filter);
    options.filter_key = winnow::TextOrEmpty(filter_key);
    options.filter_memory_budget = filter_memory_budget;
    if (progress != nullptr) {
      // Refers to the arguments: it is called on this thread, and not after Refilter has returned.
      options.on_progress = [&](const winnow::RefilterInfo& so_far) {
        return progress(state, so_far.files_refiltered, so_far.files_left) != 0;
      };
    }
    return db->db->Refilter(family->family, options).status();
  });
}

char* winnow_plan_filters(winnow_t* db, uint64_t budget_bytes, char** errptr) {
  return winnow::PlanText(db, budget_bytes, /*json=*/false, errptr);
}

char* winnow_plan_filters_json(winnow_t* db, uint64_t budget_bytes, char** errptr) {
  return winnow::PlanText(db, budget_bytes, /*json=*/true, errptr);
}

char* winnow_explain(winnow_t* db, const char* key, size_t keylen, char** errptr) {
  return winnow::ExplainText(db, db->default_family, BytesOf(key, keylen), /*json=*/false, errptr);
}

char* winnow_explain_cf(winnow_t* db, winnow_columnfamily_t* family, const char* key, size_t keylen,
                        char** errptr) {
  return winnow::ExplainText(db, family->family, BytesOf(key, keylen), /*json=*/false, errptr);
}

char* winnow_explain_json(winnow_t* db, const char* key, size_t keylen, char** errptr) {
  return winnow::ExplainText(db, db->default_family, BytesOf(key, keylen), /*json=*/true, errptr);
}

char* winnow_explain_json_cf(winnow_t* db, winnow_columnfamily_t* family, const char* key,
                             size_t keylen, char** errptr) {
  return winnow::ExplainText(db, family->family, BytesOf(key, keylen), /*json=*/true, errptr);
}

// NULL for the family is "default", as there is one function for all families.
char* winnow_explain_range(winnow_t* db, winnow_columnfamily_t* family, const char* start,
                           size_t startlen, const char* limit, size_t limitlen, char** errptr) {
  return winnow::ExplainRangeText(db, family, BytesOf(start, startlen), BytesOf(limit, limitlen),
                                  /*json=*/false, errptr);
}

char* winnow_explain_range_json(winnow_t* db, winnow_columnfamily_t* family, const char* start,
                                size_t startlen, const char* limit, size_t limitlen,
                                char** errptr) {
  return winnow::ExplainRangeText(db, family, BytesOf(start, startlen), BytesOf(limit, limitlen),
                                  /*json=*/true, errptr);
}

char* winnow_verify(winnow_t* db) {
  // Null is "all is well", so that what kept the check from being made must be text too.
  std::string text;
  char* copy = nullptr;
  const bool had_memory = winnow::UnlessOutOfMemory([&] {
    const auto problems = db->db->Verify();
    if (!problems.ok()) {
      text = absl::StrCat(problems.status().message(), "\n");
    } else {
      for (const winnow::VerifyProblem& problem : *problems) {
        absl::StrAppend(&text, problem.status.message(), "\n");
      }
    }
  });
  if (had_memory && text.empty()) return nullptr;
  if (had_memory) copy = CopyToC(text);
  return copy != nullptr ? copy : winnow::OutOfMemoryText();
}

// Here and in the next function nothing outlives the call, and `kept` is local.
void winnow_destroy_db(const winnow_options_t* options, const char* name, char** errptr) {
  ReportFrom(errptr, [&]() -> absl::Status {
    KeptAlive kept;
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &kept));
    return winnow::DB::Destroy(prepared, name);
  });
}

void winnow_repair_db(const winnow_options_t* options, const char* name, char** errptr) {
  ReportFrom(errptr, [&]() -> absl::Status {
    KeptAlive kept;
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &kept));
    // The report is for callers in C++; LevelDB's function has no place for it.
    return winnow::LevelDbRepairError(winnow::RepairDatabase(prepared, name).status());
  });
}
