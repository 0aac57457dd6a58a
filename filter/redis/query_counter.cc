#include "filter/redis/query_counter.h"

#include "absl/strings/match.h"

namespace winnow::filter::redis {

// By what the operator would do: make the filter, wait for the server, look at who changes its
// configuration, at the network, or at the error itself.
void QueryCounter::AddUnknown(const absl::Status& error, uint64_t keys) {
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
      return Add(&missing_, keys);
    case absl::StatusCode::kAborted:
      return Add(&changed_, keys);
    // Reply::ToStatus keeps the server's text, whose words tell a server that is loading from one
    // out of reach.
    case absl::StatusCode::kUnavailable:
      return Add(absl::StrContains(error.message(), "LOADING") ? &loading_ : &unreachable_, keys);
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kDataLoss:
      return Add(&unreachable_, keys);
    default:
      return Add(&refused_, keys);
  }
}

QueryCounts QueryCounter::Get() const {
  QueryCounts counts;
  counts.no = no_.load(std::memory_order_relaxed);
  counts.found = found_.load(std::memory_order_relaxed);
  counts.missing = missing_.load(std::memory_order_relaxed);
  counts.loading = loading_.load(std::memory_order_relaxed);
  counts.changed = changed_.load(std::memory_order_relaxed);
  counts.unreachable = unreachable_.load(std::memory_order_relaxed);
  counts.refused = refused_.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace winnow::filter::redis
