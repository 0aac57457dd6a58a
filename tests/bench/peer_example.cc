// A library as bench_filter --peer loads it: its filter is the sorted keys themselves. Compiled
// once for each fault that such a library can have.

#include <algorithm>
#include <vector>

#include "bench/filter/peer_filter.h"

namespace {

using Keys = std::vector<uint64_t>;

void* Build(const uint64_t* keys, size_t count) {
  auto* const sorted = new Keys(keys, keys + count);
  std::sort(sorted->begin(), sorted->end());
  return sorted;
}

uint64_t NumBytes(const void* filter) {
  return static_cast<const Keys*>(filter)->size() * sizeof(uint64_t);
}

int MayContain(const void* filter, uint64_t key) {
  const auto& keys = *static_cast<const Keys*>(filter);
  return std::binary_search(keys.begin(), keys.end(), key) ? 1 : 0;
}

void Release(void* filter) { delete static_cast<Keys*>(filter); }

#ifdef PEER_NO_FUNCTION
constexpr auto kMayContain = static_cast<decltype(&MayContain)>(nullptr);
#else
constexpr auto kMayContain = &MayContain;
#endif

const WinnowPeerKind kKinds[] = {
    {"sorted", &Build, &NumBytes, kMayContain, nullptr, &Release},
};

#ifdef PEER_OTHER_VERSION
constexpr uint32_t kVersion = WINNOW_PEER_VERSION + 1;
#else
constexpr uint32_t kVersion = WINNOW_PEER_VERSION;
#endif

#ifdef PEER_NO_FILTERS
constexpr uint32_t kNumKinds = 0;
#else
constexpr uint32_t kNumKinds = 1;
#endif

const WinnowPeerLibrary kLibrary = {kVersion, kNumKinds, kKinds};

}  // namespace

#ifdef PEER_NO_SYMBOL
extern "C" const WinnowPeerLibrary* another_function() { return &kLibrary; }
#elif defined(PEER_NULL_LIBRARY)
const WinnowPeerLibrary* winnow_peer_library() {
  return kLibrary.version == 0 ? &kLibrary : nullptr;
}
#else
const WinnowPeerLibrary* winnow_peer_library() { return &kLibrary; }
#endif
