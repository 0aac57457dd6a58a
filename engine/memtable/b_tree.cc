#include "engine/memtable/b_tree.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

namespace winnow {

namespace {

// After so many descents that met a change a reader takes the pages as they are.
constexpr int kReaderTries = 3;

uint32_t CountSharedBytes(std::string_view a, std::string_view b) {
  const size_t shortest = std::min(a.size(), b.size());
  size_t shared = 0;
  while (shared < shortest && a[shared] == b[shared]) shared++;
  return static_cast<uint32_t>(shared);
}

}  // namespace

// The left edge of the tree begins with the head of the list, which is less than every key:
// whatever is looked for, slot 0 of the page that it belongs to is less (invariant 3).
BTree::BTree(const InternalKeyComparator& comparator, Arena* arena)
    : comparator_(comparator),
      bytewise_(comparator.is_bytewise()),
      arena_(arena),
      head_(0, 0),
      first_page_(0),
      root_(&first_page_) {
  first_page_.lock.AssertMadeLocked();
  first_page_.Insert(0, {0, &head_, nullptr});
  first_page_.lock.Unlock();
}

// Plain stores: nobody finds the entry before a link or a slot leads to it, either of which
// publishes all of it.
BTree::Entry* BTree::NewEntry(std::string_view user_key, uint64_t trailer, std::string_view value) {
  const size_t key_bytes = user_key.size() + kTrailerBytes;
  char* const memory = arena_->Allocate(sizeof(Entry) + key_bytes + value.size());
  Entry* const entry = new (memory) Entry(key_bytes, value.size());
  char* out = entry->data();
  if (!user_key.empty()) std::memcpy(out, user_key.data(), user_key.size());
  EncodeFixed64(out + user_key.size(), trailer);
  if (!value.empty()) std::memcpy(out + key_bytes, value.data(), value.size());
  return entry;
}

BTree::Page* BTree::NewPage(uint32_t level) {
  if (level == 0) return new (arena_->Allocate(sizeof(Page))) Page(level);
  return new (arena_->Allocate(sizeof(BTreeInnerPage))) BTreeInnerPage(level);
}

BTree::Page* BTree::Child(const Page& page, uint32_t slot) {
  return static_cast<const BTreeInnerPage&>(page).child[slot].load(std::memory_order_acquire);
}

// Under another order prefixes say nothing: where all are equal the entries are compared.
uint64_t BTree::PrefixOf(std::string_view user_key, uint32_t shared_bytes) const {
  if (!bytewise_) return 0;
  return KeyPrefix64(user_key.substr(std::min<size_t>(shared_bytes, user_key.size())));
}

// The order of internal keys, without putting one together for the target.
bool BTree::IsLess(const Entry* entry, const Target& target) const {
  if (entry == &head_) return true;
  const std::string_view key = entry->internal_key();
  const int order = comparator_.CompareUserKeys(UserKey(key), target.user_key);
  if (order != 0) return order < 0;
  return Trailer(key) > target.trailer;  // newer versions come first
}

bool BTree::IsEqual(const Entry* entry, const Target& target) const {
  const std::string_view key = entry->internal_key();
  return Trailer(key) == target.trailer &&
         comparator_.CompareUserKeys(UserKey(key), target.user_key) == 0;
}

// Different prefixes decide; equal ones leave it to the entries. The first search has no branch
// that depends on what it reads.
uint32_t BTree::LastLess(const Page& page, uint32_t count, const Target& target) const {
  const uint64_t wanted =
      PrefixOf(target.user_key, page.shared_bytes.load(std::memory_order_acquire));
  const auto prefix = [&page](uint32_t slot) {
    return page.prefix[slot].load(std::memory_order_acquire);
  };
  // Invariant: slot `less` has a smaller prefix, or is slot 0, and the last such slot is that one
  // or among the `left` behind it. Stays below `count` whatever it reads, as prefixes may be
  // changing.
  uint32_t less = 0;
  for (uint32_t left = count - 1; left > 0;) {
    const uint32_t half = (left + 1) / 2;
    less += prefix(less + half) < wanted ? half : 0;
    left -= half;
  }
  // Slots from less + 1 to `last` have the key's own prefix; their entries decide.
  uint32_t last = less;
  while (last + 1 < count && prefix(last + 1) == wanted) last++;
  const auto is_less = [&](uint32_t slot) {
    return IsLess(page.entry[slot].load(std::memory_order_acquire), target);
  };
  // What comes in order goes to the end.
  if (last > less + 1 && is_less(last)) return last;
  while (less < last) {
    const uint32_t middle = less + (last - less + 1) / 2;
    if (is_less(middle)) {
      less = middle;
    } else {
      last = middle - 1;
    }
  }
  return less;
}

// The version of a page is read before that of the page above is looked at again: at that moment
// the target belonged to it.
// The root is looked at again after its version was read: once it has been split it is no root any
// more, and its new version alone would not tell that it covers less than all keys.
//
// The page that is found may be locked; callers see that by its version.
bool BTree::TryFindPage(const Target& target, uint32_t level, PageAtVersion* found) const {
  Page* page = root_.load(std::memory_order_acquire);
  uint32_t version = page->lock.version();
  if (root_.load(std::memory_order_acquire) != page) return false;
  while (page->level > level) {
    if (VersionLock::IsLocked(version)) return false;
    const uint32_t count = page->count.load(std::memory_order_acquire);
    Page* const child = Child(*page, LastLess(*page, count, target));
    child->Prefetch();
    const uint32_t child_version = child->lock.version();
    if (page->lock.version() != version) return false;
    page = child;
    version = child_version;
  }
  *found = {page, version};
  return true;
}

// Slots move to the right while a page changes, so that a child which begins too late may be found:
// to the left of it is one that does not (invariant 4). A page that has been split since still
// leads to the right place, by the list.
const BTree::Page* BTree::FindLeafAmongChanges(const Target& target) const {
  const Page* page = root_.load(std::memory_order_acquire);
  while (page->level > 0) {
    uint32_t slot = LastLess(*page, page->count.load(std::memory_order_acquire), target);
    const auto begins_before = [&](const Page* child) {
      return IsLess(child->entry[0].load(std::memory_order_acquire), target);
    };
    while (slot > 0 && !begins_before(Child(*page, slot))) slot--;
    page = Child(*page, slot);
  }
  return page;
}

// Where the leaf is seen unchanged its neighbours are the list's, and neither entry is touched.
BTree::Neighbours BTree::Find(const Target& target) const {
  PageAtVersion found = {nullptr, 0};
  for (int tries = 0; tries < kReaderTries && !TryFindPage(target, 0, &found);) tries++;
  const Page& leaf = found.page != nullptr ? *found.page : *FindLeafAmongChanges(target);
  const uint32_t count = leaf.count.load(std::memory_order_acquire);
  uint32_t slot = LastLess(leaf, count, target);
  const Entry* before = leaf.entry[slot].load(std::memory_order_acquire);
  if (slot + 1 < count && found.page != nullptr && !VersionLock::IsLocked(found.version)) {
    const Entry* const after = leaf.entry[slot + 1].load(std::memory_order_acquire);
    if (leaf.lock.version() == found.version) return {before, after};
  }
  while (slot > 0 && !IsLess(before, target)) {
    before = leaf.entry[--slot].load(std::memory_order_acquire);
  }
  // What follows is the answer as of the moment in which it was seen there, and not less.
  for (;;) {
    const Entry* const after = Next(before);
    if (after == nullptr || !IsLess(after, target)) return {before, after};
    before = after;
  }
}

// From wherever the last page is, or was a moment ago, the list leads to its end.
const BTree::Entry* BTree::Last() const {
  const Page* page = root_.load(std::memory_order_acquire);
  const auto last_slot = [](const Page& of) {
    return of.count.load(std::memory_order_acquire) - 1;
  };
  while (page->level > 0) page = Child(*page, last_slot(*page));
  const Entry* entry = page->entry[last_slot(*page)].load(std::memory_order_acquire);
  while (const Entry* const next = Next(entry)) entry = next;
  return entry == &head_ ? nullptr : entry;
}

void BTree::Insert(std::string_view user_key, uint64_t trailer, std::string_view value,
                   absl::FunctionRef<void()> meanwhile) {
  Entry* const entry = NewEntry(user_key, trailer, value);
  // The entry is copied once, before any page is locked. Whatever changes under the descent makes
  // it begin anew: what was found is only used if the page can be locked at the version that it
  // had.
  const Target target = {user_key, trailer};
  for (;; std::this_thread::yield()) {
    PageAtVersion found = {nullptr, 0};
    if (!TryFindPage(target, 0, &found)) continue;
    Page* const leaf = found.page;
    if (!leaf->lock.TryLock(found.version)) continue;
    VersionLockHold hold(&leaf->lock);
    InsertIntoLeaf(leaf, target, entry, meanwhile);
    return;
  }
}

// Release, for the link: whoever follows it sees the entry's content and its own link. The entry
// before lies anywhere. The store to it would not be waited for, but for the next atomic operation
// of this thread, which waits for all stores.
void BTree::InsertIntoLeaf(Page* leaf, const Target& target, Entry* entry,
                           absl::FunctionRef<void()> meanwhile) {
  const uint32_t count = leaf->count.load(std::memory_order_relaxed);
  const uint32_t less = LastLess(*leaf, count, target);
  Entry* const before = leaf->entry[less].load(std::memory_order_relaxed);
  __builtin_prefetch(before, /*rw=*/1);
  meanwhile();
  Entry* const after = less + 1 < count ? leaf->entry[less + 1].load(std::memory_order_relaxed)
                                        : before->next.load(std::memory_order_relaxed);
  // Before anything leads to the entry, whose link readers follow at once.
  entry->next.store(after, std::memory_order_relaxed);
  const uint32_t shared_bytes = leaf->shared_bytes.load(std::memory_order_relaxed);
  const Page::Slot slot = {PrefixOf(target.user_key, shared_bytes), entry, nullptr};
  if (count == Page::kSlots) {
    SplitAndInsert(leaf, less + 1, slot, before);
    return;
  }
  before->next.store(entry, std::memory_order_release);
  leaf->Insert(less + 1, slot);
}

// In this order: the right page is filled in, locked and found by nobody; the level above leads to
// it, while the left page still has the same slots; the left page gives them up; in a leaf the
// entry before then leads to the new one. Each entry of the list can be found at every moment.
//
// A page at the end of its level that grows at its end stays full, so that keys that come in order
// leave full pages behind.
void BTree::SplitAndInsert(Page* page, uint32_t place, const Page::Slot& slot, Entry* before) {
  const bool appends = place == Page::kSlots && page->high == nullptr;
  const uint32_t kept = appends ? Page::kSlots : Page::kSlots / 2;
  const bool goes_right = appends || place > kept;
  Page* const right = NewPage(page->level);
  right->lock.AssertMadeLocked();
  VersionLockHold hold(&right->lock);
  right->high = page->high;
  right->shared_bytes.store(page->shared_bytes.load(std::memory_order_relaxed),
                            std::memory_order_relaxed);
  right->CopyUpper(*page, kept);
  if (goes_right) right->Insert(place - kept, slot);
  LengthenSharedBytes(right);
  InsertAbove(page, right);
  // From here on nothing fails. Until `page` ends before it, nobody else changes `right`, and
  // readers find the same in both.
  page->high = right->entry[0].load(std::memory_order_relaxed);
  page->count.store(kept, std::memory_order_release);
  if (!goes_right) page->Insert(place, slot);
  LengthenSharedBytes(page);
  if (before != nullptr) before->next.store(slot.entry, std::memory_order_release);
}

// A page stays the root for as long as its lock is held by whoever finds it to be the root.
void BTree::InsertAbove(Page* left, Page* right) {
  Entry* const low = right->entry[0].load(std::memory_order_relaxed);
  const Target target = {UserKey(low->internal_key()), Trailer(low->internal_key())};
  if (root_.load(std::memory_order_relaxed) == left) {
    Page* const root = NewPage(left->level + 1);
    root->lock.AssertMadeLocked();
    root->Insert(0, {0, &head_, left});
    root->Insert(1, {PrefixOf(target.user_key, 0), low, right});
    root->lock.Unlock();
    root_.store(root, std::memory_order_release);
    return;
  }
  // Locks are taken upwards only: who holds a page waits for none below it, so that all waits end.
  for (;; std::this_thread::yield()) {
    PageAtVersion found = {nullptr, 0};
    if (!TryFindPage(target, left->level + 1, &found)) continue;
    Page* const above = found.page;
    if (!above->lock.TryLock(found.version)) continue;
    VersionLockHold hold(&above->lock);
    const uint32_t count = above->count.load(std::memory_order_relaxed);
    const uint32_t place = LastLess(*above, count, target) + 1;
    const uint32_t shared_bytes = above->shared_bytes.load(std::memory_order_relaxed);
    const Page::Slot slot = {PrefixOf(target.user_key, shared_bytes), low, right};
    if (count == Page::kSlots) {
      SplitAndInsert(above, place, slot, nullptr);
    } else {
      above->Insert(place, slot);
    }
    return;
  }
}

// Every key of a range begins with what its two ends have in common, from which follows that the
// same bytes may be left out of a key that is looked for here. Readers that see half of it find
// their way by invariant 4.
void BTree::LengthenSharedBytes(Page* page) {
  const Entry* const low = page->entry[0].load(std::memory_order_relaxed);
  if (!bytewise_ || low == &head_ || page->high == nullptr) return;
  const uint32_t count = page->count.load(std::memory_order_relaxed);
  bool has_equal = false;
  // Slot 0 is left out: no search looks at its prefix.
  for (uint32_t i = 1; i + 1 < count; i++) {
    has_equal |= page->prefix[i].load(std::memory_order_relaxed) ==
                 page->prefix[i + 1].load(std::memory_order_relaxed);
  }
  if (!has_equal) return;
  const uint32_t shared_bytes =
      CountSharedBytes(UserKey(low->internal_key()), UserKey(page->high->internal_key()));
  if (shared_bytes <= page->shared_bytes.load(std::memory_order_relaxed)) return;
  page->shared_bytes.store(shared_bytes, std::memory_order_release);
  for (uint32_t i = 0; i < count; i++) {
    const Entry* const entry = page->entry[i].load(std::memory_order_relaxed);
    page->prefix[i].store(PrefixOf(UserKey(entry->internal_key()), shared_bytes),
                          std::memory_order_release);
  }
}

}  // namespace winnow
