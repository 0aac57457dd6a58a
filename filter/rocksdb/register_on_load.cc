// In libwinnow_rocksdb.so only: registers the policies when the library is loaded, so that programs
// which know nothing of Winnow can name them.

#include <string>

#include "filter/rocksdb/diagnostics.h"
#include "winnow/filter/rocksdb.h"

namespace {

__attribute__((constructor)) void RegisterOnLoad() {
  const absl::Status status = winnow::filter::RegisterFilterPolicies();
  if (status.ok()) return;
  winnow::filter::internal::Warn(std::string(status.message().data(), status.message().size()));
}

}  // namespace
