#include "engine/base/checksum.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/vector_state.h"

namespace winnow {
namespace {

TEST(Checksum, LeavesNoVectorRegistersInUse) {
  if (!VectorState::Clear()) GTEST_SKIP() << "this processor does not tell";
  for (size_t size = 0; size < 5'000; size = size * 3 / 2 + 1) {
    const std::string bytes(size, 'x');
    VectorState::Clear();
    const uint64_t checksum = Checksum(bytes, size);
    EXPECT_FALSE(VectorState::UpperHalvesAreInUse()) << size;
    EXPECT_NE(checksum, 0u);
  }
}

}  // namespace
}  // namespace winnow
