// Loads a shared library of filters that speaks peer_filter.h.

#ifndef WINNOW_BENCH_FILTER_PEER_LIBRARY_H_
#define WINNOW_BENCH_FILTER_PEER_LIBRARY_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "bench/filter/peer_filter.h"

namespace winnow::bench {

// The kinds of the library at `path`, which stays loaded. NotFound if it cannot be loaded;
// InvalidArgument if it is no such library, or one of another version or with a kind that lacks a
// name or a function.
absl::StatusOr<std::span<const WinnowPeerKind>> LoadPeerLibrary(const std::string& path);

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_PEER_LIBRARY_H_
