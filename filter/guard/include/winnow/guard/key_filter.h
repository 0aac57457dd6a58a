// The filter in front of the cache: it knows which keys may be in the database, so that absent ones
// reach neither cache nor database.

#ifndef WINNOW_GUARD_KEY_FILTER_H_
#define WINNOW_GUARD_KEY_FILTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::guard {

// All functions may be called by any number of threads at a time.
class KeyFilter {
 public:
  virtual ~KeyFilter() = default;
  // False only if the key was never added. A filter that cannot tell, since it is loading or out of
  // reach, says true.
  virtual bool MayContain(std::string_view key) = 0;
  virtual absl::Status Add(std::string_view key) = 0;

  // Adds the key of a row that is about to be written, and then says that it is written, or will
  // not be. A filter that can be rebuilt remembers the keys in between: a rebuild that reads the
  // rows would miss them.
  virtual absl::Status BeginInsert(std::string_view key) { return Add(key); }
  virtual void EndInsert(std::string_view key) { (void)key; }
};

// In memory, of fixed size: a Bloom filter for `capacity` keys (1 to 2^40) at a rate of `fpr`.
// Errors as filter::BloomFilter::Create.
absl::StatusOr<std::unique_ptr<KeyFilter>> NewBloomKeyFilter(uint64_t capacity, double fpr);

// A filter that can be replaced by a new one while keys are added and asked for, when rows have
// been deleted, which a Bloom filter cannot forget, or more keys came than it was made for.
class RebuildableFilter : public KeyFilter {
 public:
  // Calls its argument with the key of each row that was committed before the scan began.
  using Scan = std::function<absl::Status(const std::function<absl::Status(std::string_view)>&)>;

  // Fills `next` from the scan, and with each key that is added, or whose insertion has not ended,
  // in the meantime; then `next` is the filter. Adding goes to both until then. If the scan fails
  // or throws, or adding to `next` fails or throws, whoever added, the filter stays what it is and
  // this is the error; a writer is not told. FailedPrecondition while another rebuild is running,
  // InvalidArgument if `next` is null.
  virtual absl::Status Rebuild(std::unique_ptr<KeyFilter> next, const Scan& scan) = 0;
};

// Null for null.
std::unique_ptr<RebuildableFilter> NewRebuildableFilter(std::unique_ptr<KeyFilter> filter);

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_KEY_FILTER_H_
