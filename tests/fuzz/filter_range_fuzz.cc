// Any bytes as a range filter: once as they are, and once with length and checksum made right, so
// that what lies behind the checksum is reached too. The bytes are also keys, of which none may be
// refuted.

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "filter/range/range_format.h"
#include "tests/fuzz/fuzz_target.h"
#include "winnow/filter/range_filter.h"

namespace {

using winnow::filter::FilterState;
using winnow::filter::FilterStateCode;
using winnow::filter::RangeFilterBuilder;
using winnow::filter::RangeFilterReader;

constexpr size_t kBlockLengthOffset = 64;  // filter/range/FORMAT.md
constexpr size_t kHeaderBytes = 80;

std::string Reseal(std::string block) {
  if (block.size() < kHeaderBytes) return block;
  const uint64_t length = block.size();
  std::memcpy(block.data(), "WNWRANGE", 8);
  std::memcpy(block.data() + kBlockLengthOffset, &length, sizeof(length));
  winnow::filter::internal::SealRangeBlock(&block);
  return block;
}

void Ask(std::string_view block) {
  FilterState state;
  const RangeFilterReader reader = RangeFilterReader::Open(block, &state);
  winnow::fuzz::Require(reader.always_true() == (state.code != FilterStateCode::kOk),
                        "a damaged filter says 'may contain'");
  const std::string prefix(reader.Describe().prefix);
  for (size_t i = 0; i < std::min<size_t>(block.size(), 200); ++i) {
    reader.MayContain(block.substr(i, 9), block.substr(i / 2, 9));
    reader.MayContain(prefix + std::string(block.substr(i, 8)), std::nullopt);
    reader.MayContain(prefix, prefix + std::string(block.substr(i, 8)));
  }
  reader.Describe();
}

void Build(std::string_view bytes) {
  if (bytes.empty()) return;
  const double bits = 3 + static_cast<uint8_t>(bytes[0]) % 31;
  std::set<std::string> keys;
  for (size_t begin = 1; begin < bytes.size() && keys.size() < 200;) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    keys.insert(std::string(bytes.substr(begin, end - begin)));
    begin = end + 1;
  }
  auto builder = *RangeFilterBuilder::Create(bits, 1);
  for (const std::string& key : keys) builder.Add(key);
  const std::string block = builder.Finish();
  FilterState state;
  const RangeFilterReader reader = RangeFilterReader::Open(block, &state);
  winnow::fuzz::Require(state.code == FilterStateCode::kOk, "what was built can be read");
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    winnow::fuzz::Require(reader.MayContain(*key, *key + '\0'), "no key is refuted");
    const auto next = std::next(key);
    if (next == keys.end()) break;
    winnow::fuzz::Require(reader.MayContain(*key, *next), "nor a range that begins with one");
  }
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds = {
      "\x05"
      "a\nb\nc",
      "\x10user:1\nuser:2\nuser:20\nuser:3000000001"};
  for (const int keys : {0, 1, 100, 3000}) {
    auto builder = *RangeFilterBuilder::Create(7, 7);
    for (int key = 0; key < keys; key++) builder.Add(std::to_string(100000 + key * key));
    seeds.push_back(builder.Finish());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  Ask(input);
  Ask(Reseal(input));
  Build(input);
  return 0;
}
