#include "filter/rocksdb/allocation_fit.h"

#include <malloc.h>

#include <algorithm>
#include <memory>

namespace winnow::filter::internal {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// 2^32: the balance is an integer, which threads can add to at once.
constexpr double kBalanceUnit = 4294967296.0;
// What RocksDB appends to each block when it reads it into memory: compression type and checksum.
constexpr size_t kBlockTrailerBytes = 5;

}  // namespace

// By allocating, which works with whatever allocator the program is linked to.
size_t AllocatedBytes(size_t bytes) {
  const std::unique_ptr<char[]> memory(new char[bytes]);
  return malloc_usable_size(memory.get());
}

size_t AllocationFit::Fit(size_t bytes, const std::function<double(size_t)>& fpr_of) const {
  size_t chosen = bytes;
  // Rates do not fall as evenly as sizes grow: the smallest size that the balance can bear, of few.
  if (Credit() > 0) {
    const double wanted_fpr = fpr_of(bytes);
    for (const size_t sixteenths : {12, 13, 14, 15}) {
      const size_t smaller = bytes / 16 * sixteenths;
      if (!CanBear(wanted_fpr, fpr_of(smaller))) continue;
      chosen = smaller;
      break;
    }
  }
  // RocksDB allocates a block with its trailer: the sum is what has to fit.
  const size_t requested = chosen + kBlockTrailerBytes;
  const size_t allocated = allocated_bytes_(requested);
  // An allocator that gives much more does not mean it to be used.
  if (allocated <= requested || allocated - allocated / 4 > requested) return chosen;
  return allocated - kBlockTrailerBytes;
}

double AllocationFit::Credit() const {
  return -static_cast<double>(balance_.load(kRelaxed)) / kBalanceUnit;
}

bool AllocationFit::CanBear(double wanted_fpr, double fpr) const {
  return fpr <= wanted_fpr + std::max(Credit(), 0.0);
}

void AllocationFit::Count(double wanted_fpr, double built_fpr) {
  balance_.fetch_add(static_cast<int64_t>((built_fpr - wanted_fpr) * kBalanceUnit), kRelaxed);
}

}  // namespace winnow::filter::internal
