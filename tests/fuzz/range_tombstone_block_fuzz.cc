// Any bytes as the contents of a range tombstone block: the input's first byte says how keys are
// compared. What the parser lets through is indexed and asked, and each answer compared with a walk
// over all tombstones.

#include <algorithm>

#include "engine/sstable/range_tombstone_block.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using winnow::fuzz::Require;

class ReverseComparator final : public winnow::Comparator {
 public:
  std::string_view Name() const override { return "fuzz.reverse"; }
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
};

std::string Seed(int fragments, int sequences) {
  winnow::RangeTombstoneBlockBuilder builder;
  for (int i = 0; i < fragments; i++) {
    std::vector<winnow::SequenceNumber> numbers;
    for (int j = sequences; j > 0; j--) numbers.push_back(static_cast<uint64_t>(j * 300 + i));
    builder.Add("key" + std::to_string(1000 + 2 * i), "key" + std::to_string(1001 + 2 * i + i % 2),
                numbers);
  }
  return builder.Finish();
}

void Ask(const std::vector<winnow::RangeTombstone>& tombstones,
         const winnow::RangeTombstoneIndex& index, const winnow::InternalKeyComparator& order,
         std::string_view key) {
  for (const winnow::SequenceNumber snapshot :
       {uint64_t{0}, uint64_t{299}, uint64_t{301}, index.largest_sequence(),
        winnow::kMaxSequenceNumber}) {
    winnow::SequenceNumber newest = 0;
    for (const winnow::RangeTombstone& tombstone : tombstones) {
      const bool covers = order.CompareUserKeys(tombstone.begin, key) <= 0 &&
                          order.CompareUserKeys(key, tombstone.end) < 0;
      if (covers && tombstone.sequence <= snapshot) newest = std::max(newest, tombstone.sequence);
    }
    Require(index.NewestCovering(key, snapshot) == newest, "the index answers as the list does");
  }
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const int fragments : {0, 1, 2, 20}) {
    for (const int sequences : {1, 3})
      seeds.push_back(std::string(1, '\0') + Seed(fragments, sequences));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const ReverseComparator reverse;
  const bool is_reverse = (data[0] & 1) != 0;
  const winnow::InternalKeyComparator order(
      is_reverse ? static_cast<const winnow::Comparator*>(&reverse) : winnow::BytewiseComparator());
  const std::string_view contents(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<winnow::RangeTombstone> tombstones;
  if (winnow::ReadRangeTombstoneBlock(contents, order, &tombstones) != nullptr) return 0;
  Require(!tombstones.empty() && tombstones.size() <= contents.size(), "each takes a byte or more");
  const winnow::RangeTombstoneIndex index(order, tombstones);
  const size_t step = std::max<size_t>(tombstones.size() / 16, 1);
  for (size_t i = 0; i < tombstones.size(); i += step) {
    Ask(tombstones, index, order, tombstones[i].begin);
    Ask(tombstones, index, order, tombstones[i].end);
    Ask(tombstones, index, order, std::string(tombstones[i].begin) + '\0');
  }
  for (const char* key : {"", "key1003", "zzz"}) Ask(tombstones, index, order, key);
  return 0;
}
