// Every public call beside every other public call: what they answer, and what is there afterwards.
#ifndef WINNOW_TESTS_ENGINE_PAIRS_PAIRS_H_
#define WINNOW_TESTS_ENGINE_PAIRS_PAIRS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace winnow::pairs {

// Names of the calls, in their order.
const std::vector<std::string>& CallNames();

struct PairRun {
  size_t first = 0;  // indexes of CallNames; may be equal
  size_t second = 0;
  uint64_t seed = 1;
  int threads = 2;  // half of them make the first call, half the second
  int calls = 20;   // of each thread
};

// Opens a database in memory with keys that nobody touches, runs the calls beside each other,
// closes and opens it again. Empty, or what was wrong: an answer that neither call may give, a key
// that is gone, damage. A call is any of its kind's forms, as the seed draws them.
std::string RunPair(const PairRun& run);

// "put beside close, seed 7, 4 threads".
std::string Describe(const PairRun& run);

}  // namespace winnow::pairs

#endif  // WINNOW_TESTS_ENGINE_PAIRS_PAIRS_H_
