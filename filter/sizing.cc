#include "winnow/filter/sizing.h"

#include <utility>

#include "filter/base/small_memo.h"
#include "filter/registry/registry.h"

namespace winnow::filter {
namespace {

FilterSpec SpecOfKind(FilterKind kind) {
  FilterSpec spec;
  spec.kind = kind;
  return spec;
}

// The kind whose figures stand for a spec. "auto" is promised what the worst of its choices keeps:
// blocked_bloom has the highest rate.
const internal::KindOperations* Promised(const FilterSpec& spec) {
  if (spec.kind == FilterKind::kAuto) return internal::FindKind(FilterKind::kBlockedBloom);
  return internal::FindLayout(spec.kind, spec.words);
}

}  // namespace

double BitsPerKeyForFpr(FilterKind kind, double fpr) {
  return BitsPerKeyForFpr(SpecOfKind(kind), fpr);
}

double BitsPerKeyForFpr(const FilterSpec& spec, double fpr) {
  const internal::KindOperations* operations = Promised(spec);
  // kNone, and kinds of newer versions, take no bits.
  if (operations == nullptr) return 0;
  // A search by theory, some microseconds to a millisecond. By the layout's address, which is the
  // same for the life of the process.
  thread_local internal::SmallMemo<std::pair<const internal::KindOperations*, double>, double> memo;
  return memo.Of({operations, fpr},
                 [operations, fpr] { return operations->bits_per_key_for_fpr(fpr); });
}

double ExpectedFpr(FilterKind kind, double bits_per_key, uint64_t num_keys) {
  return ExpectedFpr(SpecOfKind(kind), bits_per_key, num_keys);
}

double ExpectedFpr(const FilterSpec& spec, double bits_per_key, uint64_t num_keys) {
  const internal::KindOperations* operations = Promised(spec);
  return operations == nullptr ? 1 : operations->expected_fpr(bits_per_key, num_keys);
}

// A rate counts before an amount of bits; a valid spec has at most one of them.
double SpecBitsPerKey(const FilterSpec& spec) {
  if (spec.kind == FilterKind::kNone) return 0;
  if (spec.fpr != 0) return BitsPerKeyForFpr(spec, spec.fpr);
  return spec.bits_per_key != 0 ? spec.bits_per_key : kDefaultBitsPerKey;
}

BitsPerKeyRange AllowedBitsPerKey(FilterKind kind) { return AllowedBitsPerKey(SpecOfKind(kind)); }

BitsPerKeyRange AllowedBitsPerKey(const FilterSpec& spec) {
  // Whatever is chosen must be able to keep to it.
  const internal::KindOperations* operations = spec.kind == FilterKind::kAuto
                                                   ? internal::FindKind(FilterKind::kRibbon)
                                                   : internal::FindLayout(spec.kind, spec.words);
  return operations == nullptr ? BitsPerKeyRange{0, 0} : operations->bits_per_key;
}

}  // namespace winnow::filter
