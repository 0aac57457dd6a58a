// Any bytes as the contents of one data block or index block: the input's first byte says which,
// and how the keys are compared. What the check lets through is sought and walked both ways.

#include "engine/cache/cached_block.h"
#include "engine/sstable/block_cursor.h"
#include "engine/sstable/data_block_builder.h"
#include "engine/sstable/index_block.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using winnow::fuzz::Require;

constexpr uint8_t kIsIndex = 1;
constexpr uint8_t kReverseOrder = 2;
constexpr uint64_t kDataEnd = uint64_t{1} << 40;

class ReverseComparator final : public winnow::Comparator {
 public:
  std::string_view Name() const override { return "fuzz.reverse"; }
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
};

std::string DataBlockSeed(int entries, int restart_interval) {
  winnow::DataBlockBuilder builder(static_cast<uint32_t>(restart_interval));
  std::string last;
  for (int i = 0; i < entries; i++) {
    const std::string key = "key" + std::to_string(1000 + i / 2);
    size_t shared = 0;
    while (shared < key.size() && shared < last.size() && key[shared] == last[shared]) shared++;
    builder.Add(key, shared,
                winnow::PackTrailer(static_cast<uint64_t>(100 - i), winnow::EntryType::kPut),
                std::string(static_cast<size_t>(i) % 7 * 30, 'v'));
    last = key;
  }
  std::string contents;
  builder.Finish(&contents);
  return contents;
}

std::string IndexBlockSeed(int entries, uint64_t block_bytes, bool share_prefix) {
  winnow::IndexBuilder builder;
  for (int i = 0; i < entries; i++) {
    builder.Add(winnow::MakeInternalKey("prefix" + std::to_string(100 + i), i % 3 == 0 ? 7 : 0,
                                        winnow::EntryType::kDelete),
                block_bytes * static_cast<uint64_t>(i + 1));
  }
  return builder.Encode(0, builder.size(), 0, share_prefix);
}

void UseDataBlock(const char* contents, size_t size, const winnow::InternalKeyComparator& order) {
  winnow::BlockCursor cursor;
  cursor.Reset(contents);
  const uint32_t entries = cursor.block().num_entries();
  uint32_t seen = 0;
  size_t bytes = 0;
  for (cursor.SeekToFirst(); cursor.Valid() && seen <= entries; cursor.Next()) {
    seen++;
    bytes += cursor.value().size();
  }
  Require(seen == entries, "a walk forward shows every entry");
  Require(bytes <= size, "values lie in the block");
  seen = 0;
  // Going back costs a walk from the restart point each time.
  for (cursor.SeekToLast(); cursor.Valid() && seen < 100; cursor.Prev()) seen++;
  Require(seen == std::min<uint32_t>(entries, 100), "a walk backward shows every entry");
  for (const char* key : {"", "key1002", "key1002x", "zzz"}) {
    cursor.Seek(order, winnow::MakeInternalKey(key, 50, winnow::kEntryTypeForSeek));
    cursor.block().Seek(order, key, 0);
  }
}

void UseIndexBlock(const char* contents, const winnow::InternalKeyComparator& order) {
  const winnow::IndexBlock index(contents);
  uint64_t end = index.first_offset();
  for (uint32_t i = 0; i < index.size(); i++) {
    const winnow::BlockHandle handle = index.handle(i);
    Require(handle.offset == end && handle.FitsBelow(kDataEnd + winnow::kBlockTrailerBytes),
            "blocks lie one behind the other, in the file");
    end = handle.end();
    Require(winnow::IsInternalKey(index.separator(i)), "a separator is an internal key");
    index.StraddlesWith(i, "prefix101");
  }
  Require(end == index.end_offset(), "the last block ends where the index says");
  for (const char* key : {"", "prefix101", "prefix1010", "zzz"}) {
    for (const uint64_t trailer : {uint64_t{0}, ~uint64_t{0}}) {
      Require(index.Find(order, key, trailer) <= index.size(), "a search ends in the index");
    }
  }
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const uint8_t flags : {0, 2}) {
    const std::string first(1, static_cast<char>(flags));
    seeds.push_back(first + DataBlockSeed(1, 16));
    seeds.push_back(first + DataBlockSeed(40, 4));
    seeds.push_back(first + DataBlockSeed(40, 1));
  }
  for (const uint64_t block_bytes : {uint64_t{100}, uint64_t{1} << 33}) {
    seeds.push_back("\x01" + IndexBlockSeed(20, block_bytes, true));
    seeds.push_back("\x03" + IndexBlockSeed(20, block_bytes, false));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const ReverseComparator reverse;
  const uint8_t flags = data[0];
  const winnow::InternalKeyComparator order((flags & kReverseOrder) != 0
                                                ? static_cast<const winnow::Comparator*>(&reverse)
                                                : winnow::BytewiseComparator());
  const std::string_view contents(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<char> padded(contents.begin(), contents.end());
  padded.resize(contents.size() + winnow::CachedBlock::kReadablePadding);
  if ((flags & kIsIndex) != 0) {
    if (winnow::IndexBlockError(contents, kDataEnd) == nullptr) UseIndexBlock(padded.data(), order);
  } else if (winnow::DataBlockError(contents) == nullptr) {
    UseDataBlock(padded.data(), contents.size(), order);
  }
  return 0;
}
