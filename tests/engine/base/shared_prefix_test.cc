#include "engine/base/shared_prefix.h"

#include <gtest/gtest.h>

#include <string>

namespace winnow {
namespace {

// Prefixes shorter and longer than the eight bytes that are compared at once.
TEST(SharedPrefix, PlacesKeysAsTheirBytesDo) {
  const std::string bytes = std::string("k\x80\0user:\xff", 9) + "000000001";
  for (size_t length = 0; length <= bytes.size(); length++) {
    const std::string prefix = bytes.substr(0, length);
    const SharedPrefix shared(prefix);
    EXPECT_EQ(shared.bytes(), prefix);
    for (size_t common = 0; common <= bytes.size(); common++) {
      for (const std::string& rest : {std::string(), std::string(1, '\0'), std::string(1, '\xff'),
                                      std::string("12345678abc"), std::string(20, '\xff')}) {
        const std::string key = bytes.substr(0, common) + rest;
        const int expected = key.starts_with(prefix) ? 0 : (key < prefix ? -1 : 1);
        ASSERT_EQ(shared.Compare(key), expected) << length << " " << common;
        if (expected == 0) {
          ASSERT_EQ(shared.HeadOf(key), KeyPrefix64(std::string_view(key).substr(length)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace winnow
