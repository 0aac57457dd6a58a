// A program that compares the places of the virtual functions in the table, by which RocksDB calls
// them, with those of the version that it is compiled for. Exit code 1: a function is elsewhere.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "filter/rocksdb/filter_bits_interface.h"

namespace {

using ROCKSDB_NAMESPACE::FilterBitsBuilder;
using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;
using Buffer = std::unique_ptr<const char[]>;

bool all_right = true;

// In the Itanium C++ ABI a pointer to a virtual member function is its offset in the table (on
// some processors plus one). The destructor takes the first two places.
template <typename Function>
void Expect(Function function, size_t place, const char* name) {
  intptr_t offset;
  std::memcpy(&offset, &function, sizeof(offset));
  const size_t found = static_cast<size_t>(offset) / sizeof(void*);
  if (found == place) return;
  std::fprintf(stderr, "%s is at place %zu of the table, not %zu\n", name, found, place);
  all_right = false;
}

}  // namespace

int main() {
  constexpr int kVersion = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;
  constexpr size_t kShift = kVersion >= 906 ? 1 : 0;
  Expect(&FilterBitsBuilder::AddKey, 2, "AddKey");
#if WINNOW_ROCKSDB_HAS_ADD_KEY_AND_ALT
  Expect(&FilterBitsBuilder::AddKeyAndAlt, 3, "AddKeyAndAlt");
#endif
  Expect(&FilterBitsBuilder::EstimateEntriesAdded, 3 + kShift, "EstimateEntriesAdded");
  Expect<Slice (FilterBitsBuilder::*)(Buffer*)>(&FilterBitsBuilder::Finish, 4 + kShift, "Finish");
  Expect<Slice (FilterBitsBuilder::*)(Buffer*, Status*)>(&FilterBitsBuilder::Finish, 5 + kShift,
                                                         "Finish with status");
  Expect(&FilterBitsBuilder::MaybePostVerify, 6 + kShift, "MaybePostVerify");
  Expect(&FilterBitsBuilder::ApproximateNumEntries, 7 + kShift, "ApproximateNumEntries");
  static_assert(WINNOW_ROCKSDB_HAS_CALCULATE_SPACE == (kVersion >= 1009));
#if WINNOW_ROCKSDB_HAS_CALCULATE_SPACE
  Expect(&FilterBitsBuilder::CalculateSpace, 8 + kShift, "CalculateSpace");
  Expect(&FilterBitsBuilder::EstimatedFpRate, 9 + kShift, "EstimatedFpRate");
#endif
  Expect<bool (FilterBitsReader::*)(const Slice&)>(&FilterBitsReader::MayMatch, 2, "MayMatch");
  Expect<void (FilterBitsReader::*)(int, Slice**, bool*)>(&FilterBitsReader::MayMatch, 3,
                                                          "MayMatch of many");
  return all_right ? 0 : 1;
}
