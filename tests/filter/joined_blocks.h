// Blocks of several units. No builder writes them yet; readers must understand them.
#ifndef WINNOW_TESTS_FILTER_JOINED_BLOCKS_H_
#define WINNOW_TESTS_FILTER_JOINED_BLOCKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "filter/format/block_format.h"

namespace winnow::filter::internal {

// One block out of all units of `blocks`, each a sealed block; a key is in it if all of them may
// contain it. Units carry their own checksums and no offsets: they are right wherever they lie.
inline std::string JoinBlocks(const std::vector<std::string_view>& blocks) {
  std::string joined(kBlockHeaderBytes, '\0');
  uint32_t num_units = 0;
  for (const std::string_view block : blocks) {
    joined += block.substr(kBlockHeaderBytes);
    num_units += UnitCount(block);
  }
  WriteBlockHeader(num_units, &joined);
  return joined;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_TESTS_FILTER_JOINED_BLOCKS_H_
