// Runs a fuzz target without a fuzzer.
//
//   NAME_replay                  each seed, each truncation of it and random mutations of it
//   NAME_replay FILE...          the named inputs: how a finding is looked at
//   NAME_replay --write DIR      writes the seeds, for libFuzzer to start from

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "tests/fuzz/fuzz_target.h"

namespace winnow::fuzz {
namespace {

constexpr size_t kMutationsOfASeed = 600;
constexpr size_t kMaxTruncations = 600;

void Run(const std::string& input) {
  // A copy of exact size on the heap, so that AddressSanitizer sees a read of one byte too many.
  const std::vector<char> exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(exact.data()), exact.size());
}

std::string Mutate(std::string input, std::mt19937_64& random) {
  static constexpr unsigned char kInteresting[] = {0, 1, 0x7f, 0x80, 0xff};
  for (uint64_t changes = 1 + random() % 4; changes > 0 && !input.empty(); changes--) {
    const size_t at = random() % input.size();
    switch (random() % 5) {
      case 0:
        input[at] = static_cast<char>(input[at] ^ (1 << random() % 8));
        break;
      case 1:
        input[at] = static_cast<char>(kInteresting[random() % std::size(kInteresting)]);
        break;
      case 2: {  // a length or a count that asks for the moon
        const uint64_t huge = ~uint64_t{0} >> (random() % 64);
        std::memcpy(input.data() + at, &huge, std::min<size_t>(sizeof(huge), input.size() - at));
        break;
      }
      case 3:
        input.erase(at, 1 + random() % 16);
        break;
      default:
        input.insert(at, input.substr(random() % input.size(), 1 + random() % 16));
        break;
    }
  }
  return input;
}

void RunAround(const std::string& seed, uint64_t run) {
  Run(seed);
  const size_t step = std::max<size_t>(1, seed.size() / kMaxTruncations);
  for (size_t length = 0; length < seed.size(); length += step) Run(seed.substr(0, length));
  std::mt19937_64 random(run);
  for (size_t i = 0; i < kMutationsOfASeed; i++) Run(Mutate(seed, random));
}

int Main(int argc, char** argv) {
  const std::vector<std::string> seeds = Seeds();
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) {
    std::filesystem::create_directories(argv[2]);
    for (size_t i = 0; i < seeds.size(); i++) {
      std::ofstream(std::filesystem::path(argv[2]) / ("seed_" + std::to_string(i)),
                    std::ios::binary)
          << seeds[i];
    }
    return 0;
  }
  for (int i = 1; i < argc; i++) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::cerr << argv[i] << ": cannot be read\n";
      return 2;
    }
    Run(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  if (argc > 1) return 0;
  if (seeds.empty()) {
    std::cerr << "the target has no seeds\n";
    return 1;
  }
  for (size_t i = 0; i < seeds.size(); i++) RunAround(seeds[i], i);
  std::cout << seeds.size() << " seeds, each with its truncations and " << kMutationsOfASeed
            << " mutations\n";
  return 0;
}

}  // namespace
}  // namespace winnow::fuzz

int main(int argc, char** argv) { return winnow::fuzz::Main(argc, argv); }
