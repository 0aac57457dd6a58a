// Libraries of other people's filters: one that works, and what is said of those that cannot.

#include "bench/filter/peer_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "absl/status/status.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;

absl::Status StatusOf(const std::string& path) { return LoadPeerLibrary(path).status(); }

void ExpectRefused(const std::string& path, const std::string& reason) {
  const absl::Status status = StatusOf(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()), HasSubstr(reason));
}

TEST(PeerLibraryTest, FiltersOfAnotherLibraryAreBuiltAndAsked) {
  const auto kinds = LoadPeerLibrary(PEER_GOOD);
  ASSERT_TRUE(kinds.ok()) << kinds.status();
  ASSERT_EQ(kinds->size(), 1u);
  const WinnowPeerKind& kind = kinds->front();
  EXPECT_STREQ(kind.name, "sorted");
  constexpr std::array<uint64_t, 3> kKeys = {30, 10, 20};
  void* const filter = kind.build(kKeys.data(), kKeys.size());
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(kind.num_bytes(filter), 24u);
  for (const uint64_t key : kKeys) EXPECT_EQ(kind.may_contain(filter, key), 1);
  EXPECT_EQ(kind.may_contain(filter, 15), 0);
  kind.release(filter);
}

TEST(PeerLibraryTest, NoSuchFile) {
  const absl::Status status = StatusOf("no_such_library.so");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no_such_library.so"));
}

TEST(PeerLibraryTest, ALibraryOfAnotherKindIsRefused) {
  ExpectRefused(PEER_NO_SYMBOL, "no function winnow_peer_library");
  ExpectRefused(PEER_NULL_LIBRARY, "returned null");
}

TEST(PeerLibraryTest, AnotherVersionIsRefused) {
  ExpectRefused(PEER_OTHER_VERSION, "version 2, this program knows version 1");
}

TEST(PeerLibraryTest, IncompleteLibrariesAreRefused) {
  ExpectRefused(PEER_NO_FILTERS, "without filters");
  ExpectRefused(PEER_NO_FUNCTION, "filter 0 of the peer library lacks its name or a function");
}

}  // namespace
}  // namespace winnow::bench
