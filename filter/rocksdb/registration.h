// Makes the policies known to RocksDB by name.

#ifndef WINNOW_FILTER_ROCKSDB_REGISTRATION_H_
#define WINNOW_FILTER_ROCKSDB_REGISTRATION_H_

#include <rocksdb/utilities/object_registry.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::filter::internal {

// Adds the names to `library` and returns how many; also what looks like one of them, which is
// refused with advice. The version must have been checked.
int AddFilterPolicies(ROCKSDB_NAMESPACE::ObjectLibrary& library);

}  // namespace winnow::filter::internal

// For RocksDB's plugin folder; its build generates the call.
extern "C" int winnow_register_filter_policies(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                                               const std::string& argument);

#endif  // WINNOW_FILTER_ROCKSDB_REGISTRATION_H_
