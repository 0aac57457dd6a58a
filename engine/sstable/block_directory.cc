#include "engine/sstable/block_directory.h"

#include <limits>
#include <new>
#include <utility>

#include "engine/sstable/equal_heads.h"

namespace winnow {

namespace {

constexpr uint64_t kGreatest = std::numeric_limits<uint64_t>::max();

// How many of them are smaller. Without a branch, since each outcome is a coin toss, and without a
// loop, which compilers would keep: two instructions a number.
template <size_t... kPlaces>
uint64_t NumBelow(const uint64_t* numbers, uint64_t limit, std::index_sequence<kPlaces...>) {
  uint64_t below = 0;
  ((below += static_cast<uint64_t>(numbers[kPlaces] < limit)), ...);
  return below;
}
template <size_t kSize>
uint64_t NumBelow(const std::array<uint64_t, kSize>& numbers, uint64_t limit) {
  return NumBelow(numbers.data(), limit, std::make_index_sequence<kSize>());
}

}  // namespace

std::unique_ptr<BlockDirectory> BlockDirectory::Make(const IndexBlock& index) {
  // Lines hold the starts of blocks as 32 bits from the first one on.
  const uint64_t data_bytes = index.end_offset() - index.first_offset();
  if (index.size() == 0 || data_bytes > std::numeric_limits<uint32_t>::max()) return nullptr;
  // A search takes a line's last head for its greatest, and would run off the line otherwise.
  for (uint32_t i = 1; i < index.size(); i++) {
    if (index.HeadAt(i) < index.HeadAt(i - 1)) return nullptr;
  }
  // Nor are separators kept but for what is behind their heads.
  if (!index.HeadsAgree()) return nullptr;
  std::unique_ptr<BlockDirectory> made(new (std::nothrow) BlockDirectory());
  if (made == nullptr) return nullptr;

  const uint32_t num_lines = (index.size() + kLineEntries - 1) / kLineEntries;
  std::array<size_t, kMaxLevels> nodes_of_level{};
  size_t num_nodes = 0;
  // One node for eight of what is below it, up to a single root. A directory of one line has a root
  // as well, so that FindLine needs no other case.
  for (size_t below = num_lines; made->num_levels_ == 0 || below > 1; made->num_levels_++) {
    below = (below + kNodeKeys - 1) / kNodeKeys;
    nodes_of_level[made->num_levels_] = below;
    num_nodes += below;
  }
  // One piece of memory, which starts on a cache line, as all sizes in it are of whole lines: no
  // node and no line lies on two. What is behind the heads, read seldom, comes last.
  const SeparatorTails::Layout tails = SeparatorTails::LayOut(index);
  made->memory_ =
      filter::ResidentMemory(num_nodes * sizeof(Node) + num_lines * sizeof(Line) + tails.end);
  if (made->memory_.data() == nullptr) return nullptr;
  // The root first: the upper levels of the tree lie together.
  char* at = made->memory_.data();
  for (size_t level = made->num_levels_; level-- > 0;) {
    made->levels_[level] = new (at) Node[nodes_of_level[level]];
    at += nodes_of_level[level] * sizeof(Node);
  }
  made->lines_ = new (at) Line[num_lines];
  at += num_lines * sizeof(Line);
  made->tails_ = SeparatorTails(index, tails, at);
  made->prefix_ = made->tails_.shared_prefix();
  made->Fill(index, num_lines);
  return made;
}

// What is left of the last line, and of the last node of each level, is filled with the greatest
// number. NumBelow never counts that, since it is below no head.
void BlockDirectory::Fill(const IndexBlock& index, uint32_t num_lines) {
  num_entries_ = index.size();
  first_offset_ = index.first_offset();
  data_bytes_ = index.end_offset() - first_offset_;
  last_head_ = index.HeadAt(num_entries_ - 1);
  for (uint32_t i = 0; i < num_lines * kLineEntries; i++) {
    Line& line = lines_[i / kLineEntries];
    const bool is_entry = i < num_entries_;
    line.heads[i % kLineEntries] = is_entry ? index.HeadAt(i) : kGreatest;
    line.starts[i % kLineEntries] =
        is_entry ? static_cast<uint32_t>(index.handle(i).offset - first_offset_) : 0;
    line.hints[i % kLineEntries].store(0, std::memory_order_relaxed);
  }
  size_t below = num_lines;
  for (size_t level = 0; level < num_levels_; level++) {
    const size_t num_nodes = (below + kNodeKeys - 1) / kNodeKeys;
    for (size_t i = 0; i < num_nodes * kNodeKeys; i++) {
      uint64_t& last = levels_[level][i / kNodeKeys].last_heads[i % kNodeKeys];
      if (i >= below) {
        last = kGreatest;
      } else {
        // Heads ascend, so that the last one is the greatest of its line or node.
        last = level == 0 ? lines_[i].heads.back() : levels_[level - 1][i].last_heads.back();
      }
    }
    below = num_nodes;
  }
}

// Nowhere does the way down leave the tree: the head is not greater than the last one, and what is
// behind that one in its node is the greatest number, which is below nothing.
BlockDirectory::Place BlockDirectory::FindLine(std::string_view user_key) const {
  const int order = prefix_.Compare(user_key);
  if (order != 0) [[unlikely]]
    return {0, order < 0 ? kBefore : kBehind};
  const uint64_t head = prefix_.HeadOf(user_key);
  // Such a head would be counted past the last line, where that one is full.
  if (head > last_head_) [[unlikely]]
    return {head, kBehind};
  size_t node = 0;
  for (size_t level = num_levels_; level-- > 0;) {
    node = node * kNodeKeys + NumBelow(levels_[level][node].last_heads, head);
  }
  __builtin_prefetch(&lines_[node]);
  return {head, static_cast<uint32_t>(node)};
}

// The first head of the line that is not smaller than the key's. A greater one is that of the
// answer; among equal ones the bytes behind the heads decide.
uint32_t BlockDirectory::FindInLine(const Place& place, std::string_view user_key,
                                    uint64_t trailer) const {
  if (place.line >= kBehind) [[unlikely]]
    return place.line == kBefore ? 0 : num_entries_;
  const Line& line = lines_[place.line];
  const auto in_line = static_cast<uint32_t>(NumBelow(line.heads, place.head));
  const uint32_t entry = place.line * kLineEntries + in_line;
  if (line.heads[in_line] != place.head) [[likely]]
    return entry;
  return FindAmongEqualHeads(*this, entry, user_key.substr(prefix_.bytes().size()), trailer);
}

bool BlockDirectory::StraddlesWith(uint32_t entry, std::string_view user_key) const {
  if (TrailerAt(entry) == 0 || !user_key.starts_with(prefix_.bytes())) return false;
  return HeadAt(entry) == prefix_.HeadOf(user_key) &&
         CompareSuffix(entry, user_key.substr(prefix_.bytes().size())) == 0;
}

}  // namespace winnow
