// Filter blocks in memory: checked, and ready to be asked.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_BLOCK_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_BLOCK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/cache/cached_block.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/format.h"
#include "winnow/filter/filter_state.h"
#include "winnow/filter/reader.h"

namespace winnow {

// Which filter block, and what its table says of it.
struct FilterBlockSource {
  const BlockFile* file;
  BlockHandle handle;
  uint64_t hash_seed;
  bool made_by_policy;  // a user's: its contents say nothing to a FilterReader
};

// Reads a block that is used in place, and so never compressed, into `memory`, which has room for
// it and its trailer, and checks every byte. `*read_status` is that of the file.
filter::FilterState ReadInPlace(const BlockFile& file, const BlockHandle& handle, BlockKind kind,
                                char* memory, absl::Status* read_status);

// The same of a filter block, and what it needs to be asked. Unless the state is OK, `*reader`
// answers "may contain".
filter::FilterState ReadFilterBlock(const FilterBlockSource& source, char* memory,
                                    filter::FilterReader* reader, absl::Status* read_status);

// A filter as a block of the cache: the reader, which points into the block, then the bytes. What
// is damaged becomes a block without bytes, so that it is not read again for each look-up. `*state`
// (may be null) says why. An error: the file or memory could not be had now.
absl::StatusOr<BlockRef> LoadFilterForCache(const FilterBlockSource& source, BlockArena* arena,
                                            ReadCounters* counters, filter::FilterState* state);

struct CachedFilter {
  filter::FilterReader reader;
  std::string_view contents;  // empty: the filter cannot be used
};
CachedFilter FilterOf(const CachedBlock& block);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_BLOCK_H_
