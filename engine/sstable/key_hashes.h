// The hashes of a table's filter keys, in blocks of their own (FORMAT.md): another filter is made
// from them without a look at the data.
#ifndef WINNOW_ENGINE_SSTABLE_KEY_HASHES_H_
#define WINNOW_ENGINE_SSTABLE_KEY_HASHES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/base/counter.h"
#include "engine/sstable/format.h"
#include "engine/sstable/readahead_buffer.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/filter/builder.h"

namespace winnow {

// Where the blocks lie. Their bytes alone say it: all but the last are full.
class KeyHashLayout {
 public:
  static constexpr uint64_t kHashesPerBlock = 8192;
  static constexpr size_t kHeaderBytes = 8;

  // `stored_bytes`: of all blocks, trailers included; the first begins at `start`.
  KeyHashLayout(uint64_t start, uint64_t stored_bytes)
      : start_(start), stored_bytes_(stored_bytes) {}

  // What so many hashes take, trailers included.
  static uint64_t BytesOf(uint64_t num_hashes);

  // False: there is no number of hashes that takes these bytes. The rest needs this to be true.
  bool IsPossible() const { return BytesOf(num_hashes()) == stored_bytes_; }
  uint64_t num_blocks() const;
  uint64_t num_hashes() const;
  uint64_t hashes_in(uint64_t block) const;
  BlockHandle handle(uint64_t block) const;

 private:
  const uint64_t start_;
  const uint64_t stored_bytes_;
};

// What is wrong with the structure of a block; null: nothing.
const char* KeyHashBlockError(std::string_view contents);

// Gives `write` the contents of one block after the other, with the hashes that the builder, which
// is not finished, was given, in their order. Stops at the first error.
absl::Status WriteKeyHashes(const filter::FilterBuilder& builder,
                            absl::FunctionRef<absl::Status(std::string_view contents)> write);

// Reads the hashes of a table that has some, in their order and past the cache. It holds one block
// of them, and what it reads ahead.
class KeyHashCursor {
 public:
  // The table outlives it. Of the options, how much is read ahead, and the counters.
  KeyHashCursor(const SstableReader& table, const SstableReadOptions& options);

  uint64_t num_blocks() const { return layout_.num_blocks(); }
  BlockHandle handle(uint64_t block) const { return layout_.handle(block); }
  // All hashes of a block, checked. Blocks may come in any order.
  absl::Status Read(uint64_t block, std::vector<uint64_t>* hashes);

 private:
  const BlockFile& file_;
  const SstableReadOptions options_;
  const KeyHashLayout layout_;
  ReadaheadBuffer buffer_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_KEY_HASHES_H_
