#include "engine/memtable/b_tree_page.h"

namespace winnow {

// From the end down, so that nothing is lost before it has been copied. Readers who come meanwhile
// may find an entry twice, or not find the last one; they see by the version that the page has
// changed, or know how to do without (invariant 4 in b_tree.h). The count comes last, when the slot
// that it adds has been filled in.
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

// `from` keeps its slots until the level above leads here (BTree::SplitAndInsert).
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
