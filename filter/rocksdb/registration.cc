#include "filter/rocksdb/registration.h"

#include <rocksdb/filter_policy.h>

#include <cstdint>
#include <random>
#include <utility>

#include "filter/rocksdb/diagnostics.h"
#include "filter/rocksdb/filter_policy.h"
#include "filter/rocksdb/misspelt_name.h"
#include "filter/rocksdb/policy_spec.h"
#include "filter/rocksdb/version_check.h"
#include "winnow/filter/rocksdb.h"

namespace winnow::filter {
namespace {

using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::ObjectLibrary;

// Adversarial keys that saturate a filter can only be found by those who know its seed.
uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

absl::StatusOr<std::unique_ptr<const FilterPolicy>> MakePolicy(std::string_view spec_text) {
  absl::StatusOr<internal::PolicySpec> spec = internal::ParsePolicySpec(spec_text);
  if (!spec.ok()) return spec.status();
  return std::make_unique<internal::WinnowFilterPolicy>(*std::move(spec), RandomSeed());
}

// What RocksDB calls with a whole name, such as "winnow.cuckoo:1%".
const FilterPolicy* MakeNamedPolicy(const std::string& name,
                                    std::unique_ptr<const FilterPolicy>* guard,
                                    std::string* error_message) {
  const std::string_view spec = std::string_view(name).substr(internal::kPolicyNamePrefix.size());
  absl::StatusOr<std::unique_ptr<const FilterPolicy>> policy = MakePolicy(spec);
  if (!policy.ok()) {
    const absl::string_view message = policy.status().message();
    error_message->assign(message.data(), message.size());
    internal::WarnOfRefusedName(*error_message);
    return nullptr;
  }
  // RocksDB's rule: whoever makes an object gives it to the guard, and returns a pointer to it.
  *guard = *std::move(policy);
  return guard->get();
}

// What RocksDB calls with a name that is nearly one of ours. Without it such a name would be
// unknown to RocksDB, which for many of its callers means no filter and no word.
const FilterPolicy* RefuseName(const std::string& name,
                               std::unique_ptr<const FilterPolicy>* /*guard*/,
                               std::string* error_message) {
  *error_message = internal::AdviceOnMisspeltName(name);
  internal::WarnOfRefusedName(*error_message);
  return nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FilterPolicy>> NewFilterPolicy(std::string_view spec) {
  // Before any class of RocksDB's is touched: under another version its layout may differ.
  if (absl::Status status = internal::CheckLoadedRocksDb(); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<const FilterPolicy>> policy = MakePolicy(spec);
  if (!policy.ok()) return policy.status();
  return std::shared_ptr<const FilterPolicy>(*std::move(policy));
}

absl::Status RegisterFilterPolicies() {
  // Once in a process, however often it is called: ObjectLibrary keeps every factory that it is
  // given.
  static const absl::Status* const status = [] {
    absl::Status checked = internal::CheckLoadedRocksDb();
    if (checked.ok()) internal::AddFilterPolicies(*ObjectLibrary::Default());
    return new absl::Status(std::move(checked));
  }();
  return *status;
}

namespace internal {

// RocksDB asks the patterns in the order in which they are added.
int AddFilterPolicies(ObjectLibrary& library) {
  using Pattern = ObjectLibrary::PatternEntry;
  int num_added = 0;
  for (const std::string& kind : SpecKindNames()) {
    const std::string name = std::string(kPolicyNamePrefix) + kind;
    library.AddFactory<const FilterPolicy>(Pattern(name, /*optional=*/true).AddSeparator(":"),
                                           MakeNamedPolicy);
    // Without the prefix. RocksDB's own names are others: "bloomfilter", "ribbonfilter".
    library.AddFactory<const FilterPolicy>(Pattern(kind, /*optional=*/true).AddSeparator(":"),
                                           RefuseName);
    ++num_added;
  }
  // Whatever else begins with "winnow." gets an error that names the nearest kind, and "winnow"
  // with anything else after it, one that says what names look like.
  library.AddFactory<const FilterPolicy>(Pattern("winnow", /*optional=*/false).AddSeparator("."),
                                         MakeNamedPolicy);
  library.AddFactory<const FilterPolicy>(Pattern("winnow", /*optional=*/true)
                                             .AnotherName("Winnow")
                                             .AnotherName("WINNOW")
                                             .AddSeparator("", /*at_least_one=*/false),
                                         RefuseName);
  return num_added;
}

}  // namespace internal
}  // namespace winnow::filter

int winnow_register_filter_policies(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                                    const std::string& /*argument*/) {
  const absl::Status status = winnow::filter::internal::CheckLoadedRocksDb();
  if (!status.ok()) {
    winnow::filter::internal::Warn(std::string(status.message().data(), status.message().size()));
    return 0;
  }
  return winnow::filter::internal::AddFilterPolicies(library);
}
