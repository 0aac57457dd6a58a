// The memtable's index: a concurrent skip list (Pugh, CACM 1990) with inline keys and values.
//
// Thread-safety: any number of threads may insert and read at once. Nodes are never removed; memory
// goes with the arena.
//
// Each link carries, beside the pointer, the first eight bytes of the key it points to, so that
// most comparisons of a search need no access to the next node: on random keys that saves more than
// half of the cache misses. Invariants:
//   1. A link's pointer only ever changes to a node with a smaller key (insertion between).
//   2. A link's prefix is written after its pointer and read before it, so what a reader sees is
//      never smaller than the prefix of the node that it then finds: "prefix < target" therefore
//      proves "node < target".
//   3. "prefix >= target" proves nothing (the prefix may be stale). Above level 0 it costs a reader
//      at most a longer walk. On level 0, and where an insertion will link its node, the node
//      itself is compared: a node linked before a smaller one would break invariant 1, and with
//      it 2.
#ifndef WINNOW_ENGINE_MEMTABLE_SKIP_LIST_H_
#define WINNOW_ENGINE_MEMTABLE_SKIP_LIST_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/memtable/arena.h"

namespace winnow {

class SkipList {
 public:
  static constexpr int kMaxHeight = 14;
  static constexpr uint32_t kBranching = 4;

  class Node {
   public:
    std::string_view internal_key() const { return {data(), key_bytes_}; }
    std::string_view value() const { return {data() + key_bytes_, value_bytes_}; }

   private:
    friend class SkipList;
    struct Link {
      std::atomic<Node*> next;
      std::atomic<uint64_t> prefix;
    };
    // Links lie before the node, level 0 nearest.
    Link* link(int level) { return reinterpret_cast<Link*>(this) - 1 - level; }
    const Link* link(int level) const { return reinterpret_cast<const Link*>(this) - 1 - level; }
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }
    char* data() { return reinterpret_cast<char*>(this + 1); }

    uint32_t key_bytes_;
    uint32_t value_bytes_;
  };

  SkipList(const InternalKeyComparator& comparator, Arena* arena);
  SkipList(const SkipList&) = delete;
  SkipList& operator=(const SkipList&) = delete;

  // Adds an entry; no two entries may have the same user key and sequence number.
  void Insert(std::string_view user_key, uint64_t trailer, std::string_view value);

  // The first node >= the internal key (user_key, trailer); null if none.
  const Node* FindGreaterOrEqual(std::string_view user_key, uint64_t trailer) const;
  // The last node < the internal key; null if none.
  const Node* FindLess(std::string_view user_key, uint64_t trailer) const;
  const Node* First() const;
  const Node* Last() const;
  static const Node* Next(const Node* node) {
    return node->link(0)->next.load(std::memory_order_acquire);
  }
  // Fetches the node after this one, which lies anywhere, for a walk that will soon come to it.
  static void PrefetchNext(const Node* node) {
    const Node* const next = node->link(0)->next.load(std::memory_order_relaxed);
    if (next == nullptr) return;
    // Two lines: its link and its key may lie on both sides of a boundary.
    __builtin_prefetch(next->link(0));
    __builtin_prefetch(next->data() + 2 * sizeof(uint64_t));
  }

 private:
  // The target of one search.
  struct Target {
    std::string_view user_key;
    uint64_t trailer;
    uint64_t prefix;
  };
  struct Splice {
    Node* before[kMaxHeight];
    Node* after[kMaxHeight];
  };

  Target MakeTarget(std::string_view user_key, uint64_t trailer) const;
  uint64_t PrefixOf(const Node* node) const;
  bool NodeIsLess(const Node* node, const Target& target) const;
  // From `start` (< target) along `level`: the last node < target, and what follows it. Not
  // `exact`: perhaps a node before that one.
  void FindOnLevel(Node* start, int level, const Target& target, bool exact, Node** before,
                   Node** after) const;
  // The last node < target (the head if none), and the node that followed it when both were
  // compared; null if none did.
  Node* FindLessNode(const Target& target, Node** after) const;
  Node* NewNode(int height, size_t key_bytes, size_t value_bytes);
  // `memory` is large enough and aligned.
  static Node* MakeNode(char* memory, int height, size_t key_bytes, size_t value_bytes);
  int RandomHeight();

  const InternalKeyComparator comparator_;
  const bool bytewise_;
  Arena* const arena_;
  std::atomic<int> height_{1};
  // Here and not in the arena: a list without entries takes no chunk of it.
  alignas(Node::Link) char head_memory_[kMaxHeight * sizeof(Node::Link) + sizeof(Node)];
  Node* const head_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_SKIP_LIST_H_
