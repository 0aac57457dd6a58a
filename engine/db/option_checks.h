// What options come to: validation, and defaults that stand for a null pointer.
#ifndef WINNOW_ENGINE_DB_OPTION_CHECKS_H_
#define WINNOW_ENGINE_DB_OPTION_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/write_time.h"
#include "winnow/options.h"

namespace winnow {

// InvalidArgument names the family, the field, its value and the range.
absl::Status ValidateColumnFamilyOptions(const ColumnFamilyOptions& options,
                                         std::string_view family);

// InvalidArgument if this field, whose name is its text form's, is outside its range. How it fits
// others is not looked at but for the triggers of level 0, each of which bounds the next.
absl::Status CheckField(const Options& options, std::string_view field);

// The error of a family that has a merge operator and is to have a time to live.
absl::Status MergesDoNotExpire(std::string_view family);

// `seconds` at most kMaxTtlSeconds.
TimeToLive TimeToLiveOf(const Options& options, uint64_t seconds);

// The spec without its amount: "ribbon" of "ribbon:1%". What is no spec as it is.
std::string FilterWithoutAmount(std::string_view filter);
// InvalidArgument: the spec has an amount, which a budget decides.
absl::Status CheckFilterFitsBudget(std::string_view filter, uint64_t filter_memory_budget,
                                   std::string_view family);

// SSTables whose file may be open at one time.
size_t MaxOpenFilesOf(const Options& options);

// After how many bytes LOG is replaced; 0: there is none.
size_t InfoLogBytesOf(const Options& options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_OPTION_CHECKS_H_
