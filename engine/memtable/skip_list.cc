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
      head_(NewNode(kMaxHeight, 0, 0)) {}

SkipList::Node* SkipList::NewNode(int height, size_t key_bytes, size_t value_bytes) {
  const size_t links_bytes = sizeof(Node::Link) * static_cast<size_t>(height);
  char* memory = arena_->Allocate(links_bytes + sizeof(Node) + key_bytes + value_bytes);
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

SkipList::Node* SkipList::FindLessNode(const Target& target, Node** after) const {
  Node* before = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; level--) {
    FindOnLevel(before, level, target, /*exact=*/level == 0, &before, after);
  }
  return before;
}

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

const SkipList::Node* SkipList::Last() const {
  Node* node = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; level--) {
    while (Node* next = node->link(level)->next.load(std::memory_order_acquire)) node = next;
  }
  return node == head_ ? nullptr : node;
}

}  // namespace winnow
