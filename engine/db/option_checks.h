// Validation that both DB::Open and CreateColumnFamily need.
#ifndef WINNOW_ENGINE_DB_OPTION_CHECKS_H_
#define WINNOW_ENGINE_DB_OPTION_CHECKS_H_

#include <string_view>

#include "absl/status/status.h"
#include "winnow/options.h"

namespace winnow {

// InvalidArgument names the family, the field, its value and the range.
absl::Status ValidateColumnFamilyOptions(const ColumnFamilyOptions& options,
                                         std::string_view family);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_OPTION_CHECKS_H_
