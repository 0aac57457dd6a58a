// What one fuzz target defines. The fuzz preset links it with libFuzzer; every other build links it
// with replay.cc, which runs the seeds and mutations of them as an ordinary test.

#ifndef WINNOW_TESTS_FUZZ_FUZZ_TARGET_H_
#define WINNOW_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace winnow::fuzz {

// Well-formed inputs to start from; made by the code under test, so that they follow the format.
std::vector<std::string> Seeds();

// Ends the process with a report if `condition` does not hold: how a target says that an answer was
// wrong. (Assertions are compiled out of release builds.)
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz target: this must hold: %s\n", what);
  std::abort();
}

}  // namespace winnow::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // WINNOW_TESTS_FUZZ_FUZZ_TARGET_H_
