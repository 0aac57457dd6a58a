// Collects the entries of one data block and lays them out (data_block.h, FORMAT.md).
#ifndef WINNOW_ENGINE_SSTABLE_DATA_BLOCK_BUILDER_H_
#define WINNOW_ENGINE_SSTABLE_DATA_BLOCK_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

class DataBlockBuilder {
 public:
  explicit DataBlockBuilder(uint32_t restart_interval) : restart_interval_(restart_interval) {}

  // Appends an entry behind all others. `shared` is how many bytes the user key has in common with
  // the one added before; ignored for the first entry of a block.
  void Add(std::string_view user_key, size_t shared, uint64_t trailer, std::string_view value);

  // Appends the block's contents to `*out` and starts a new block. Requires !empty().
  void Finish(std::string* out);

  bool empty() const { return entries_.empty(); }
  uint32_t num_entries() const { return static_cast<uint32_t>(entries_.size()); }
  // Bytes that Finish would append, roughly.
  size_t EstimatedBytes() const;

 private:
  // Entries wait in this form, because the width of trailers is known only at the end.
  struct Entry {
    uint32_t shared;
    uint32_t unshared;
    uint32_t value_length;
    uint64_t trailer;
  };

  const uint32_t restart_interval_;
  std::vector<Entry> entries_;
  std::string deltas_;
  std::string values_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_DATA_BLOCK_BUILDER_H_
