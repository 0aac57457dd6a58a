#include "engine/memtable/skip_list.h"

#include <cstring>
#include <new>

namespace winnow {

namespace {

// xorshift64* (Vigna 2016), one state for each thread: heights need no quality, only speed.
uint64_t NextRandom() {
  static std::atomic<uint64_t> next_seed{0x9e3779b97f4a7c15ULL};
  thread_local uint64_t state =
      next_seed.fetch_add(0x9e3779b97f4a7c15ULL, std::memory_order_relaxed) | 1;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dULL;
}

}  // namespace

SkipList::SkipList(const InternalKeyComparator& comparator, Arena* arena)
    : comparator_(comparator),
      bytewise_(comparator.is_bytewise()),
      arena_(arena),
      head_(MakeNode(head_memory_, kMaxHeight, 0, 0)) {}

// One allocation: links below the node, in descending order of their level, so that level 0, which
// every search ends on, shares a cache line with the lengths and the start of the key.
//
//   link(height - 1) | ... | link(1) | link(0) | lengths | key, trailer | value
//                                              ^ Node*
//
// A link without successor has the largest prefix: "prefix < target" is false and the pointer,
// null, decides.
SkipList::Node* SkipList::NewNode(int height, size_t key_bytes, size_t value_bytes) {
  const size_t links_bytes = sizeof(Node::Link) * static_cast<size_t>(height);
  return MakeNode(arena_->Allocate(links_bytes + sizeof(Node) + key_bytes + value_bytes), height,
                  key_bytes, value_bytes);
}

SkipList::Node* SkipList::MakeNode(char* memory, int height, size_t key_bytes, size_t value_bytes) {
  const size_t links_bytes = sizeof(Node::Link) * static_cast<size_t>(height);
  Node* node = new (memory + links_bytes) Node;
  node->key_bytes_ = static_cast<uint32_t>(key_bytes);
  node->value_bytes_ = static_cast<uint32_t>(value_bytes);
  for (int level = 0; level < height; level++) {
    Node::Link* link = new (node->link(level)) Node::Link;
    link->next.store(nullptr, std::memory_order_relaxed);
    link->prefix.store(UINT64_MAX, std::memory_order_relaxed);
  }
  return node;
}

// Level L + 1 has a quarter of level L's nodes. With kMaxHeight 14 the top level has one node in
// 4^13: enough for every memtable that fits into memory.
int SkipList::RandomHeight() {
  uint64_t random = NextRandom();
  int height = 1;
  while (height < kMaxHeight && random % kBranching == 0) {
    random /= kBranching;
    height++;
  }
  return height;
}

SkipList::Target SkipList::MakeTarget(std::string_view user_key, uint64_t trailer) const {
  // Under another order prefixes say nothing: a constant makes every comparison look at the node.
  return {user_key, trailer, bytewise_ ? KeyPrefix64(user_key) : 0};
}

uint64_t SkipList::PrefixOf(const Node* node) const {
  if (node == nullptr) return UINT64_MAX;
  return bytewise_ ? KeyPrefix64(UserKey(node->internal_key())) : 0;
}

// The order of internal keys, without putting one together for the target.
bool SkipList::NodeIsLess(const Node* node, const Target& target) const {
  const std::string_view key = node->internal_key();
  const int order = comparator_.CompareUserKeys(UserKey(key), target.user_key);
  if (order != 0) return order < 0;
  return Trailer(key) > target.trailer;  // newer versions come first
}

void SkipList::FindOnLevel(Node* start, int level, const Target& target, bool exact, Node** before,
                           Node** after) const {
  Node* node = start;
  for (;;) {
    const Node::Link* link = node->link(level);
    // The prefix before the pointer (invariant 2): acquire keeps the order of the two loads, and
    // for the pointer makes the content of the node visible.
    // A prefix below the target's proves that the node is less (invariant 2) and the node is not
    // touched. An equal prefix proves nothing and the node is read. A larger one, which may be
    // stale, ends the walk on the upper levels: the search goes on one level down, from a node that
    // is certainly less. Where the result must be exact the node itself decides.
    const uint64_t prefix = link->prefix.load(std::memory_order_acquire);
    Node* next = link->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      *before = node;
      *after = nullptr;
      return;
    }
    const bool is_less =
        prefix < target.prefix || ((prefix == target.prefix || exact) && NodeIsLess(next, target));
    if (!is_less) {
      *before = node;
      *after = next;
      return;
    }
    node = next;
  }
}

// Relaxed: a height that is too small makes the search start lower and walk further; the levels
// themselves are always consistent.
SkipList::Node* SkipList::FindLessNode(const Target& target, Node** after) const {
  Node* before = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; level--) {
    FindOnLevel(before, level, target, /*exact=*/level == 0, &before, after);
  }
  return before;
}

// Publication order:
//
// 1. The node is filled in while nobody else can reach it.
// 2. The list's height is raised. Searches that see it find null links of the head on the new
//    levels.
// 3. The links are set from level 0 upwards, each by a compare-and-swap with release. Once level 0
//    is linked the entry is in the list; a node that is reachable on a level is reachable on all
//    below.
// 4. The prefix of each link follows its pointer (invariant 2).
//
// A failed exchange means that another thread has linked a node after the same predecessor. Only
// that level is searched again, from the predecessor, which is still less and still linked: nodes
// are never removed.
void SkipList::Insert(std::string_view user_key, uint64_t trailer, std::string_view value) {
  const int height = RandomHeight();
  Node* node = NewNode(height, user_key.size() + kTrailerBytes, value.size());
  char* out = node->data();
  if (!user_key.empty()) std::memcpy(out, user_key.data(), user_key.size());
  EncodeFixed64(out + user_key.size(), trailer);
  if (!value.empty()) {
    std::memcpy(out + user_key.size() + kTrailerBytes, value.data(), value.size());
  }

  int list_height = height_.load(std::memory_order_relaxed);
  while (height > list_height &&
         !height_.compare_exchange_weak(list_height, height, std::memory_order_relaxed)) {
  }
  // The levels at and above the new height are walked as well, inexactly, only to get ahead.
  list_height = std::max(height, list_height);

  const Target target = MakeTarget(user_key, trailer);
  Splice splice;
  Node* before = head_;
  for (int level = list_height - 1; level >= 0; level--) {
    FindOnLevel(before, level, target, /*exact=*/level < height, &before, &splice.after[level]);
    splice.before[level] = before;
  }
  for (int level = 0; level < height; level++) {
    for (;;) {
      Node::Link* own = node->link(level);
      Node::Link* link = splice.before[level]->link(level);
      Node* after = splice.after[level];
      own->next.store(after, std::memory_order_relaxed);
      // Exact rather than copied from the link, whose prefix may be stale (invariant 2 needs only
      // "not smaller", but exact prefixes keep searches short).
      own->prefix.store(PrefixOf(after), std::memory_order_relaxed);
      // Release: whoever follows the pointer sees the node's content and links.
      if (link->next.compare_exchange_strong(after, node, std::memory_order_release,
                                             std::memory_order_relaxed)) {
        // Two inserters after one node may store their prefixes in either order; the result is the
        // prefix of one of them or larger than the pointer's, which invariant 2 allows.
        link->prefix.store(target.prefix, std::memory_order_release);
        break;
      }
      FindOnLevel(splice.before[level], level, target, /*exact=*/true, &splice.before[level],
                  &splice.after[level]);
    }
  }
}

// `after` is what level 0 showed in the very step that proved it not to be less, so it is the
// answer as of that moment.
const SkipList::Node* SkipList::FindGreaterOrEqual(std::string_view user_key,
                                                   uint64_t trailer) const {
  // Not what follows the last smaller node now: that may be a smaller one, inserted since.
  Node* after = nullptr;
  FindLessNode(MakeTarget(user_key, trailer), &after);
  return after;
}

const SkipList::Node* SkipList::FindLess(std::string_view user_key, uint64_t trailer) const {
  Node* after = nullptr;
  const Node* node = FindLessNode(MakeTarget(user_key, trailer), &after);
  return node == head_ ? nullptr : node;
}

const SkipList::Node* SkipList::First() const { return Next(head_); }

// Runs to the end of each level and goes down there.
const SkipList::Node* SkipList::Last() const {
  Node* node = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; level--) {
    while (Node* next = node->link(level)->next.load(std::memory_order_acquire)) node = next;
  }
  return node == head_ ? nullptr : node;
}

}  // namespace winnow
