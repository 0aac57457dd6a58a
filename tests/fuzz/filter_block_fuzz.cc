// Any bytes as a filter block: once as they are, and once with their checksums made right, so that
// what lies behind the checksums is reached too.

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tests/fuzz/fuzz_target.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/reader.h"
#include "xxhash.h"

namespace {

using winnow::filter::FilterReader;
using winnow::filter::FilterState;
using winnow::filter::FilterStateCode;

constexpr size_t kHeaderBytes = 64;  // of the block and of a unit; see filter/FORMAT.md
constexpr size_t kChecksumOffsetInBlock = 8;
constexpr size_t kUnitCountOffset = 20;
constexpr size_t kBlockLengthOffset = 24;

uint64_t Load64(const std::string& bytes, size_t offset) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

void Store64(std::string* bytes, size_t offset, uint64_t value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

// Makes every checksum and the block's length what a reader expects, as far as lengths allow.
std::string Reseal(std::string block) {
  if (block.size() < kHeaderBytes) return block;
  std::memcpy(block.data(), "WNWFILTR", 8);
  Store64(&block, kBlockLengthOffset, block.size());
  Store64(&block, kChecksumOffsetInBlock,
          XXH3_64bits(block.data() + 2 * sizeof(uint64_t), kHeaderBytes - 2 * sizeof(uint64_t)));
  uint64_t offset = kHeaderBytes;
  while (block.size() - offset >= kHeaderBytes) {
    const uint64_t payload = Load64(block, offset + sizeof(uint64_t));
    const uint64_t left = block.size() - offset - kHeaderBytes;
    if (payload > left) return block;
    const uint64_t length = std::min(kHeaderBytes + (payload + 63) / 64 * 64, left + kHeaderBytes);
    Store64(&block, offset,
            XXH3_64bits(block.data() + offset + sizeof(uint64_t), length - sizeof(uint64_t)));
    offset += length;
  }
  return block;
}

void Ask(std::string_view block) {
  FilterState state;
  const FilterReader reader = FilterReader::Open(block, &state);
  if (state.code == FilterStateCode::kDamaged) {
    winnow::fuzz::Require(reader.always_true(), "a damaged filter says 'may contain'");
  }
  constexpr size_t kAsked = 200;
  uint64_t hashes[kAsked];
  uint8_t batch[kAsked];
  uint64_t hash = 0;
  for (uint64_t& each : hashes) each = hash += 0x9e3779b97f4a7c15;
  hashes[1] = ~uint64_t{0};
  reader.MayContainBatch(hashes, kAsked, batch);
  for (size_t i = 0; i < kAsked; i++) {
    reader.Prefetch(hashes[i]);
    winnow::fuzz::Require(reader.MayContain(hashes[i]) == (batch[i] != 0),
                          "a batch answers as single questions do");
  }
  reader.Describe();
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const auto* spec : {"bloom:10", "blocked_bloom:10", "cuckoo:12", "cuckoo:8:semi_sorted",
                           "cuckoo:20:semi_sorted", "binary_fuse:9", "ribbon:7", "ribbon:10.5"}) {
    for (const int keys : {0, 1, 100}) {
      auto builder = *filter::FilterBuilder::Create(*filter::ParseFilterSpec(spec), 7);
      for (int key = 0; key < keys; key++) {
        builder->Add(static_cast<uint64_t>(key + 1) * 0x9e3779b97f4a7c15);
      }
      seeds.push_back(builder->Finish().block);
    }
  }
  // Further layers: one, and two; each form of a ternary column, and none.
  for (const auto& [spec, keys] : {std::pair("ribbon:2.4", 900), std::pair("ribbon:2.8", 900),
                                   std::pair("ribbon:3", 45'000)}) {
    auto builder = *filter::FilterBuilder::Create(*filter::ParseFilterSpec(spec), 7);
    for (int key = 0; key < keys; key++) builder->Add(filter::HashKey(std::to_string(key), 7));
    seeds.push_back(builder->Finish().block);
  }
  // Two units: the second one's bytes behind the first's, the count raised.
  std::string two = seeds[1];
  two.append(seeds[4], kHeaderBytes);
  two[kUnitCountOffset] = 2;
  seeds.push_back(Reseal(two));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  Ask(input);
  Ask(Reseal(input));
  return 0;
}
