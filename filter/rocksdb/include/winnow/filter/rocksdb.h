// Winnow's filters inside RocksDB, through RocksDB's own FilterPolicy. In a program:
//
//   absl::StatusOr<std::shared_ptr<const rocksdb::FilterPolicy>> policy =
//       winnow::filter::NewFilterPolicy("cuckoo:1%");
//   if (!policy.ok()) return policy.status();
//   table_options.filter_policy = *policy;
//
// Or by name, wherever RocksDB takes a filter policy as text ("winnow.cuckoo:1%" in an options
// file, in SetOptions or in FilterPolicy::CreateFromString), once RegisterFilterPolicies() was
// called or libwinnow_rocksdb.so is loaded.
//
// The text is a filter spec (winnow/filter/spec.h), and may end in the word level_aware:
//
//   blocked_bloom:10:level_aware     the bits of blocked_bloom:10 for the whole database, but more
//                                    of them a key in the small upper levels and fewer in the
//                                    last: fewer needless reads where upper levels hold keys.
//                                    "auto" and "auto:10" are so without the word; "auto:1%",
//                                    which asks for a rate of each filter, is not
//   blocked_bloom:10:level_aware:8   the same, if max_bytes_for_level_multiplier is 8, not 10
//
// All policies read the filters of all kinds and RocksDB's own, so that a database may change its
// filters at any time.

#ifndef WINNOW_FILTER_ROCKSDB_H_
#define WINNOW_FILTER_ROCKSDB_H_

#include <rocksdb/filter_policy.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::filter {

// A policy that builds filters as `spec` says; "none" builds none but reads those that are there.
// Of BlockBasedTableOptions it obeys detect_filter_construct_corruption,
// optimize_filters_for_memory and, in cache_usage_options, kFilterConstruction. Thread-safe;
// several databases may share it. InvalidArgument says what is wrong with the text,
// FailedPrecondition that the RocksDB in this process is not of the version compiled for.
absl::StatusOr<std::shared_ptr<const ROCKSDB_NAMESPACE::FilterPolicy>> NewFilterPolicy(
    std::string_view spec);

// Makes the name "winnow.<spec>" known to RocksDB's ObjectLibrary::Default(), for every kind of
// spec. Loading libwinnow_rocksdb.so does it too. Any number of calls, from any thread; the first
// one counts. FailedPrecondition as above.
absl::Status RegisterFilterPolicies();

// What the filters of all policies of this process have met since it started.
struct FilterPolicyCounters {
  uint64_t filters_built = 0;
  // Not of the specified kind, since that could not be built: see BuiltFilter::fell_back.
  uint64_t filters_fallen_back = 0;
  uint64_t filters_opened = 0;  // RocksDB's own are not counted
  // Of those opened, the ones whose block is damaged or was written by a newer version. They answer
  // "may contain": reads stay right, and cost what they cost without a filter.
  uint64_t filters_not_understood = 0;
};

// A snapshot. Thread-safe.
FilterPolicyCounters GetFilterPolicyCounters();

// Where warnings go, one line each, without its end; null: to standard error, as at the start.
// Filters that cannot be used or built are warned of once for each cause in the life of a process,
// a wrong policy name when it is met, unless it was the last one too: RocksDB, when it reads an
// options file, does so twice, goes on without a filter and says nothing. The handler is called
// from RocksDB's threads, one call at a time. Thread-safe.
void SetFilterPolicyWarningHandler(void (*handler)(const std::string& line));

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_ROCKSDB_H_
