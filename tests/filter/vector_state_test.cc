// No kernel leaves the vector registers in use.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/filter_fixture.h"
#include "tests/support/vector_state.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {
namespace {

std::vector<std::string> AllKernels() {
  std::vector<std::string> specs(AllKindSpecs().begin(), AllKindSpecs().end());
  for (int bits = 1; bits <= 24; bits++) specs.push_back("blocked_bloom:" + std::to_string(bits));
  for (const char* rate : {"0.1%", "1%", "5%"}) specs.push_back(std::string("ribbon:") + rate);
  return specs;
}

class VectorStateTest : public testing::TestWithParam<std::string> {};

TEST_P(VectorStateTest, IsClearAfterEachCall) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "g++ clears them behind kernels from -O2 on, and such builds have less";
#endif
  if (!VectorState::Clear()) GTEST_SKIP() << "this processor does not tell";
  for (const size_t count : {1, 7, 100, 5'000}) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; i++) keys.push_back("key" + std::to_string(i * i * i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    VectorState::Clear();
    const auto builder = MakeBuilder(GetParam());
    std::vector<uint64_t> hashes;
    for (const std::string_view key : views) hashes.push_back(HashKey(key, 0x5eed));
    for (const uint64_t hash : hashes) builder->Add(hash);
    EXPECT_FALSE(VectorState::UpperHalvesAreInUse()) << "Add";
    const BuiltFilter built = builder->Finish();
    EXPECT_FALSE(VectorState::UpperHalvesAreInUse()) << "Finish";

    const FilterReader reader = OpenSound(built.block);
    std::vector<uint8_t> found(count);
    VectorState::Clear();
    for (const uint64_t hash : hashes) EXPECT_TRUE(reader.MayContain(hash));
    EXPECT_FALSE(VectorState::UpperHalvesAreInUse()) << "MayContain";
    VectorState::Clear();
    reader.MayContainBatch(hashes.data(), count, found.data());
    EXPECT_FALSE(VectorState::UpperHalvesAreInUse()) << "MayContainBatch of hashes";
    VectorState::Clear();
    reader.MayContainBatch(views.data(), count, found.data());
    EXPECT_FALSE(VectorState::UpperHalvesAreInUse()) << "MayContainBatch of keys";
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, VectorStateTest, testing::ValuesIn(AllKernels()));

}  // namespace
}  // namespace winnow::filter
