// What building and asking take from the heap, counted at operator new.

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <set>
#include <unordered_set>

#include "filter/base/build_memory.h"
#include "tests/filter/filter_fixture.h"

namespace {

std::atomic<uint64_t> held_bytes{0};
std::atomic<uint64_t> peak_bytes{0};
std::atomic<uint64_t> num_allocations{0};

void* CountedAllocate(size_t size, size_t alignment = alignof(std::max_align_t)) {
  void* const memory =
      alignment > alignof(std::max_align_t)
          ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
          : std::malloc(size);
  if (memory == nullptr) std::abort();
  ++num_allocations;
  const uint64_t held = held_bytes += malloc_usable_size(memory);
  if (held > peak_bytes) peak_bytes = held;
  return memory;
}

void CountedFree(void* memory) {
  if (memory != nullptr) held_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return CountedAllocate(size); }
void* operator new[](size_t size) { return CountedAllocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  return CountedAllocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { CountedFree(memory); }
void operator delete(void* memory, size_t, std::align_val_t /*alignment*/) noexcept {
  CountedFree(memory);
}
void operator delete(void* memory) noexcept { CountedFree(memory); }
void operator delete[](void* memory) noexcept { CountedFree(memory); }
void operator delete(void* memory, size_t) noexcept { CountedFree(memory); }
void operator delete[](void* memory, size_t) noexcept { CountedFree(memory); }

namespace winnow::filter {
namespace {

class BuilderMemoryTest : public testing::TestWithParam<const char*> {};

// TiKV #15331: building over a huge table exhausted the memory.
TEST_P(BuilderMemoryTest, EightBytesAKeyAndOneShardsWorkAreAllThatIsHeld) {
  constexpr uint64_t kKeys = 3'000'000;
  constexpr uint64_t kRoundingBytes = 8 << 20;  // of some arrays, to whole huge pages
  // Of 2^23 bits, at up to 22 bytes a key.
  constexpr uint64_t kShardWorkBytes = (24 << 20) + kRoundingBytes;
  auto builder = MakeBuilder(GetParam());
  const uint64_t before = held_bytes;
  for (uint64_t i = 0; i < kKeys; ++i) builder->Add(MemberHash(1, i));
  EXPECT_LT(held_bytes - before, kKeys * 8 + kKeys / 8);
  peak_bytes = held_bytes.load();
  const BuiltFilter built = builder->Finish();
  const uint64_t temporary = peak_bytes - before - built.block.size();
  EXPECT_LT(temporary, kKeys * 8 + kKeys / 8 + kShardWorkBytes);
  // The report is what was really taken but for small change, for not knowing whether the block was
  // there at the peak, and for what earlier builders had left to use.
  EXPECT_GT(built.peak_temporary_bytes + kRoundingBytes, temporary);
  EXPECT_LT(built.peak_temporary_bytes,
            temporary + built.block.size() + internal::kMaxSpareBytes + (1 << 20));
}

TEST_P(BuilderMemoryTest, AskingAllocatesNothing) {
  const std::vector<uint64_t> hashes = MemberHashes(2, 1000);
  const BuiltFilter built = BuildFrom(GetParam(), hashes);
  const FilterReader reader = OpenSound(built.block);
  std::vector<uint8_t> answers(hashes.size());
  const uint64_t before = num_allocations;
  reader.MayContainBatch(hashes.data(), hashes.size(), answers.data());
  uint64_t found = 0;
  for (const uint64_t hash : hashes) {
    reader.Prefetch(hash);
    found += reader.MayContain(hash) ? 1 : 0;
  }
  EXPECT_EQ(num_allocations, before);
  EXPECT_EQ(found, hashes.size());
}

// What a filter is for: a set of the hashes themselves takes several times as much.
TEST_P(BuilderMemoryTest, IsSmallerThanTheSetsThatItStandsFor) {
  constexpr uint64_t kKeys = 100'000;
  const std::vector<uint64_t> hashes = MemberHashes(4, kKeys);
  const uint64_t before = held_bytes;
  const std::set<uint64_t> tree(hashes.begin(), hashes.end());
  const uint64_t tree_bytes = held_bytes - before;
  const std::unordered_set<uint64_t> table(hashes.begin(), hashes.end());
  const uint64_t table_bytes = held_bytes - before - tree_bytes;
  const uint64_t filter_bytes = BuildFrom(GetParam(), hashes).block.size();
  EXPECT_EQ(tree.size() + table.size(), 2 * kKeys);
  EXPECT_LT(filter_bytes * 6, kKeys * sizeof(uint64_t)) << "a sorted array";
  EXPECT_LT(filter_bytes * 15, table_bytes);
  EXPECT_LT(filter_bytes * 25, tree_bytes);
}

// Guava's CVE-2018-10237: six bytes of input asked for 17 GB.
TEST_P(BuilderMemoryTest, OpeningTakesNoMemoryThatAFieldAsksFor) {
  const std::string sound = BuildFrom(GetParam(), MemberHashes(3, 100)).block;
  for (size_t at = 0; at < sound.size(); ++at) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(0xff);
    FilterState state;
    const uint64_t before = held_bytes;
    peak_bytes = before;
    FilterReader::Open(damaged, &state);
    ASSERT_LT(peak_bytes - before, 4096u) << "byte " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, BuilderMemoryTest, testing::ValuesIn(AllKindSpecs()));

}  // namespace
}  // namespace winnow::filter
