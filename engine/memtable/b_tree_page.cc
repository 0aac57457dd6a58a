#include "engine/memtable/b_tree_page.h"

namespace winnow {

void BTreePage::Insert(uint32_t place, const Slot& slot) {
  const uint32_t slots = count.load(std::memory_order_relaxed);
  const auto set = [this](uint32_t i, const Slot& to) {
    prefix[i].store(to.prefix, std::memory_order_release);
    entry[i].store(to.entry, std::memory_order_release);
    if (level > 0) {
      static_cast<BTreeInnerPage*>(this)->child[i].store(to.child, std::memory_order_release);
    }
  };
  for (uint32_t i = slots; i > place; i--) {
    set(i, {prefix[i - 1].load(std::memory_order_relaxed),
            entry[i - 1].load(std::memory_order_relaxed),
            level == 0 ? nullptr
                       : static_cast<BTreeInnerPage*>(this)->child[i - 1].load(
                             std::memory_order_relaxed)});
  }
  set(place, slot);
  count.store(slots + 1, std::memory_order_release);
}

void BTreePage::CopyUpper(const BTreePage& from, uint32_t begin) {
  const uint32_t slots = from.count.load(std::memory_order_relaxed);
  for (uint32_t i = begin; i < slots; i++) {
    Insert(i - begin, {from.prefix[i].load(std::memory_order_relaxed),
                       from.entry[i].load(std::memory_order_relaxed),
                       level == 0 ? nullptr
                                  : static_cast<const BTreeInnerPage&>(from).child[i].load(
                                        std::memory_order_relaxed)});
  }
}

}  // namespace winnow
