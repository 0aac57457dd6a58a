#include "filter/registry/registry.h"

#include <array>

#include "filter/kinds/bloom/blocked_bloom.h"
#include "filter/kinds/bloom/bloom.h"
#include "filter/kinds/cuckoo/cuckoo.h"
#include "filter/kinds/cuckoo/semi_sorted_cuckoo.h"
#include "filter/kinds/fuse/binary_fuse.h"
#include "filter/kinds/ribbon/ribbon.h"

namespace winnow::filter::internal {

// The kinds do not register themselves: a linker drops an object file of an archive that nothing
// refers to, and a registration that runs at start-up may come after the first filter is opened.
// Addresses of constants need neither, and this table pulls each kind in.
std::span<const KindOperations* const> AllKinds() {
  static constexpr std::array<const KindOperations*, 6> kKinds = {
      &kBloomOperations,      &kBlockedBloomOperations,
      &kCuckooOperations,     &kSemiSortedCuckooOperations,
      &kBinaryFuseOperations, &kRibbonOperations,
  };
  return kKinds;
}

// The first entry of a kind is its usual layout. Six entries: a search costs nothing beside a
// checksum.
const KindOperations* FindKind(FilterKind kind) {
  for (const KindOperations* operations : AllKinds()) {
    if (operations->kind == kind) return operations;
  }
  return nullptr;
}

const KindOperations* FindKind(std::string_view name) {
  for (const KindOperations* operations : AllKinds()) {
    if (operations->name == name) return operations;
  }
  return nullptr;
}

// The number of a layout is its version, unique within a kind.
const KindOperations* FindLayout(const UnitHeader& header) {
  for (const KindOperations* operations : AllKinds()) {
    if (operations->kind == static_cast<FilterKind>(header.kind) &&
        operations->version == header.kind_version) {
      return operations;
    }
  }
  return nullptr;
}

// The usual layout has the empty word, which a spec cannot name.
const KindOperations* FindLayout(FilterKind kind, std::span<const std::string> words) {
  if (words.empty()) return FindKind(kind);
  const std::string_view word = words.front();
  if (words.size() > 1 || word.empty()) return nullptr;
  for (const KindOperations* operations : AllKinds()) {
    if (operations->kind == kind && operations->word == word) return operations;
  }
  return nullptr;
}

}  // namespace winnow::filter::internal
