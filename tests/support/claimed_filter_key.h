// An SSTable whose properties name another filter key than the one that its filter was made with.
#ifndef WINNOW_TESTS_SUPPORT_CLAIMED_FILTER_KEY_H_
#define WINNOW_TESTS_SUPPORT_CLAIMED_FILTER_KEY_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/base/coding.h"
#include "engine/sstable/format.h"

namespace winnow {

// The table's bytes with `claimed` in the place of `written`, both of one length, and the checksum
// that fits.
inline std::string WithClaimedFilterKey(std::string bytes, std::string_view written,
                                        std::string_view claimed) {
  EXPECT_EQ(written.size(), claimed.size());
  const auto footer = Footer::Decode(std::string_view(bytes).substr(bytes.size() - kFooterBytes),
                                     bytes.size(), "claimed.sst");
  EXPECT_TRUE(footer.ok()) << footer.status();
  if (!footer.ok()) return bytes;
  const BlockHandle& properties = footer->properties;
  const size_t at = bytes.find(written, properties.offset);
  EXPECT_LT(at, properties.offset + properties.size);
  if (at == std::string::npos) return bytes;
  bytes.replace(at, written.size(), claimed);
  const std::string_view contents =
      std::string_view(bytes).substr(properties.offset, properties.size);
  EncodeFixed64(bytes.data() + properties.offset + properties.size + 1,
                BlockChecksum(contents, 0, footer->file_id, properties.offset));
  return bytes;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_CLAIMED_FILTER_KEY_H_
