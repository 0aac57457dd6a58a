// Hashes whose membership is known by construction, and filters built from them.

#ifndef WINNOW_TESTS_FILTER_FILTER_FIXTURE_H_
#define WINNOW_TESTS_FILTER_FILTER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "winnow/filter/builder.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/spec.h"

namespace winnow::filter {

// A bijection of 64-bit values (SplitMix64's), so that different numbers have different hashes.
inline uint64_t Scramble(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// Members of run `run` have the top bit clear, absent hashes have it set: never equal.
inline uint64_t MemberHash(uint64_t run, uint64_t i) { return Scramble((run << 36) | i); }
inline uint64_t AbsentHash(uint64_t run, uint64_t i) {
  return Scramble((uint64_t{1} << 63) | (run << 36) | i);
}

inline std::unique_ptr<FilterBuilder> MakeBuilder(std::string_view spec_text,
                                                  FilterBuildLimits limits = {}) {
  auto spec = ParseFilterSpec(spec_text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  auto builder = FilterBuilder::Create(*spec, /*hash_seed=*/0x5eed, std::move(limits));
  EXPECT_TRUE(builder.ok()) << builder.status();
  return *std::move(builder);
}

inline BuiltFilter BuildFrom(std::string_view spec_text, const std::vector<uint64_t>& hashes,
                             FilterBuildLimits limits = {}) {
  auto builder = MakeBuilder(spec_text, std::move(limits));
  for (const uint64_t hash : hashes) builder->Add(hash);
  return builder->Finish();
}

inline std::vector<uint64_t> MemberHashes(uint64_t run, uint64_t count) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < count; ++i) hashes.push_back(MemberHash(run, i));
  return hashes;
}

inline FilterReader OpenSound(std::string_view block) {
  FilterState state;
  FilterReader reader = FilterReader::Open(block, &state);
  EXPECT_EQ(state.code, FilterStateCode::kOk) << state.reason;
  return reader;
}

inline uint64_t CountFound(const FilterReader& reader, const std::vector<uint64_t>& hashes) {
  uint64_t found = 0;
  for (const uint64_t hash : hashes) found += reader.MayContain(hash) ? 1 : 0;
  return found;
}

inline uint64_t CountFalsePositives(const FilterReader& reader, uint64_t run, uint64_t probes) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < probes; ++i) found += reader.MayContain(AbsentHash(run, i)) ? 1 : 0;
  return found;
}

inline const std::vector<const char*>& AllKindSpecs() {
  static const std::vector<const char*> specs = {"bloom:10",       "blocked_bloom:10",
                                                 "cuckoo:10",      "cuckoo:10:semi_sorted",
                                                 "binary_fuse:10", "ribbon:10"};
  return specs;
}

}  // namespace winnow::filter

#endif  // WINNOW_TESTS_FILTER_FILTER_FIXTURE_H_
