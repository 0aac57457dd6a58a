// The memtable's index: a list of entries in order, with keys and values inline, and over it a
// concurrent B+-tree that says where in the list to begin.
//
// Thread-safety: any number of threads may insert and read at once. Readers wait for nobody.
// Nothing is ever removed; memory goes with the arena.
//
// An insertion or a search touches one page on each level, of which all but the last one or two are
// in the processor's caches; the lines of a page are fetched together. (A skip list of the same
// size, with prefixes in its links, waits for memory seven or eight times, one after the other.)
// Slots hold eight bytes of their key, those behind what all keys of the page share, so that the
// entries themselves are seldom touched on the way, whatever the keys have in common.
//
// Writers are coupled optimistically (Leis et al., DaMoN 2016): they descend by versions, lock the
// leaf, and only for a split the page above, while they hold the one below. Invariants:
//   1. The list is the truth. An entry is in it when its insertion ends, and it is linked with its
//      leaf locked, so that what lies before and after it in the leaf does so in the list.
//   2. A page covers a range of keys, which only shrinks, and only while the page is locked: the
//      page that takes the rest is in the level above before. So who finds all pages on the way
//      unchanged, and then locks the last one at the version that it had, has the right one.
//   3. The entry in a page's slot 0 never changes, and is the smallest of its range. (On the left
//      edge of the tree it is the head of the list, smaller than all.)
//   4. What a reader finds in a page that changes under it may be anything that once was there, in
//      any slot. Whoever could not see a page unchanged compares with entries themselves, and goes
//      left from there, at most to slot 0, until one is less. From an entry that is less the list
//      leads to the right place.
//   5. All that may throw in a split comes before anything that others see.
#ifndef WINNOW_ENGINE_MEMTABLE_B_TREE_H_
#define WINNOW_ENGINE_MEMTABLE_B_TREE_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "engine/base/internal_key.h"
#include "engine/memtable/arena.h"
#include "engine/memtable/b_tree_page.h"

namespace winnow {

class BTree {
 public:
  using Entry = MemtableEntry;

  BTree(const InternalKeyComparator& comparator, Arena* arena);
  BTree(const BTree&) = delete;
  BTree& operator=(const BTree&) = delete;

  // Adds an entry; no two entries may have the same user key and sequence number. std::bad_alloc:
  // nothing has changed. `meanwhile` is called once, while the entry that comes before is on its
  // way from memory: it may take as long as that does, some 100 ns, and must not insert.
  void Insert(std::string_view user_key, uint64_t trailer, std::string_view value,
              absl::FunctionRef<void()> meanwhile);

  // The first entry >= the internal key (user_key, trailer); null if none.
  const Entry* FindGreaterOrEqual(std::string_view user_key, uint64_t trailer) const {
    return Find({user_key, trailer}).after;
  }
  // The last entry < the internal key; null if none.
  const Entry* FindLess(std::string_view user_key, uint64_t trailer) const {
    const Entry* const before = Find({user_key, trailer}).before;
    return before == &head_ ? nullptr : before;
  }
  // The last entry <= the internal key; null if none. Not by two searches: an entry that is
  // inserted between them lies before what the first has found, and may lie behind the key all the
  // same.
  const Entry* FindLessOrEqual(std::string_view user_key, uint64_t trailer) const {
    const Neighbours found = Find({user_key, trailer});
    if (found.after != nullptr && IsEqual(found.after, {user_key, trailer})) return found.after;
    return found.before == &head_ ? nullptr : found.before;
  }
  const Entry* First() const { return Next(&head_); }
  const Entry* Last() const;
  static const Entry* Next(const Entry* entry) {
    return entry->next.load(std::memory_order_acquire);
  }
  // Fetches the entry after this one, which lies anywhere, for a walk that will soon come to it.
  static void PrefetchNext(const Entry* entry) {
    const Entry* const next = entry->next.load(std::memory_order_relaxed);
    if (next == nullptr) return;
    // Two lines: its link and its key may lie on both sides of a boundary.
    __builtin_prefetch(next);
    __builtin_prefetch(next->data() + 2 * sizeof(uint64_t));
  }

 private:
  using Page = BTreePage;

  // What is looked for.
  struct Target {
    std::string_view user_key;
    uint64_t trailer;
  };
  struct Neighbours {
    const Entry* before;
    const Entry* after;
  };
  struct PageAtVersion {
    Page* page;
    uint32_t version;
  };

  uint64_t PrefixOf(std::string_view user_key, uint32_t shared_bytes) const;
  bool IsLess(const Entry* entry, const Target& target) const;
  bool IsEqual(const Entry* entry, const Target& target) const;
  // The last slot of those below `count` whose entry is less, taking slot 0 to be.
  uint32_t LastLess(const Page& page, uint32_t count, const Target& target) const;
  static Page* Child(const Page& page, uint32_t slot);

  // The page of the level that the target belongs to; false if a page above it has changed
  // meanwhile.
  bool TryFindPage(const Target& target, uint32_t level, PageAtVersion* found) const;
  // A leaf whose range does not begin after the target, in pages that may be changing.
  const Page* FindLeafAmongChanges(const Target& target) const;
  Neighbours Find(const Target& target) const;

  Entry* NewEntry(std::string_view user_key, uint64_t trailer, std::string_view value);
  Page* NewPage(uint32_t level);
  void InsertIntoLeaf(Page* leaf, const Target& target, Entry* entry,
                      absl::FunctionRef<void()> meanwhile)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(leaf->lock);
  // Of a full page; `before`, if it is given, is then followed by the slot's entry in the list.
  void SplitAndInsert(Page* page, uint32_t place, const Page::Slot& slot, Entry* before)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(page->lock);
  // Leads to `right`, which has been split off `left`, from the level above.
  void InsertAbove(Page* left, Page* right);
  // Lets prefixes begin later where they do not tell the page's entries apart.
  void LengthenSharedBytes(Page* page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(page->lock);

  const InternalKeyComparator comparator_;
  const bool bytewise_;
  Arena* const arena_;
  // These are here and not in the arena: a tree without entries takes no chunk of it.
  Entry head_;
  Page first_page_;
  std::atomic<Page*> root_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_B_TREE_H_
