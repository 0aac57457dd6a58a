// What building a filter through RocksDB's interface takes in memory: 8 bytes a key and the work of
// one shard, beside the filter itself.

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "filter/rocksdb/bits_builder.h"
#include "filter/rocksdb/bits_reader.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace {

std::atomic<size_t> bytes_now{0};
std::atomic<size_t> bytes_max{0};

void CountUp(void* memory) {
  const size_t now = bytes_now += malloc_usable_size(memory);
  size_t most = bytes_max;
  while (now > most && !bytes_max.compare_exchange_weak(most, now)) {
  }
}

}  // namespace

// Every allocation of this program is counted.
void* operator new(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  CountUp(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) bytes_now -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace winnow::filter::internal {
namespace {

// A shard is at most 2^23 bits of payload, and the work on it at most 16 bytes for each of its
// keys and bytes, whatever the kind; with small parts to spare.
constexpr size_t kOneShardBytes = 40u << 20;

class MemoryTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, MemoryTest, testing::ValuesIn(BuildingKinds()), KindOfTest);

TEST_P(MemoryTest, EightBytesAKeyAndOneShardBesideTheFilter) {
  const uint64_t count = std::getenv("WINNOW_LONG_TESTS") != nullptr ? 100'000'000 : 10'000'000;
  size_t most = 0;
  size_t filter_bytes = 0;
  bool all_found = true;
  {
    const size_t before = bytes_now;
    bytes_max = before;
    BitsBuilderSettings settings;
    settings.spec = *ParseFilterSpec(GetParam());
    BitsBuilder builder(settings);
    char key[16] = {};
    const auto key_of = [&key](uint64_t number) {
      std::memcpy(key, &number, sizeof(number));
      return rocksdb::Slice(key, sizeof(key));
    };
    for (uint64_t i = 0; i < count; ++i) builder.AddKey(key_of(i));
    std::unique_ptr<const char[]> owner;
    const rocksdb::Slice block = builder.Finish(&owner);
    most = bytes_max - before;
    filter_bytes = block.size();
    BitsReader reader(block);
    for (uint64_t i = 0; i < count; i += 97) all_found &= reader.MayMatch(key_of(i));
  }
  EXPECT_TRUE(all_found);
  EXPECT_GT(most, 8 * count) << "the allocations are not counted";
  EXPECT_LE(most, 8 * count + filter_bytes + kOneShardBytes)
      << static_cast<double>(most - filter_bytes) / static_cast<double>(count) << " bytes a key";
  RecordProperty(
      "bytes_a_key_beside_the_filter",
      std::to_string(static_cast<double>(most - filter_bytes) / static_cast<double>(count)));
}

}  // namespace
}  // namespace winnow::filter::internal
