// Signature blocks and their index (FORMAT.md, "Signature blocks and signature index").
#ifndef WINNOW_ENGINE_SSTABLE_SIGNATURE_BLOCK_H_
#define WINNOW_ENGINE_SSTABLE_SIGNATURE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/signed_entry.h"
#include "engine/sstable/format.h"
#include "engine/sstable/signature.h"

namespace winnow {

// Groups with their signatures, in ascending order of the groups.
class SignatureBlockBuilder {
 public:
  void Add(std::string_view group, const Signature& signature);
  bool empty() const { return num_groups_ == 0; }
  size_t EstimatedBytes() const { return groups_.size() + 2 * sizeof(uint32_t); }
  // The contents of the block; the next one begins.
  std::string Finish();

 private:
  std::string groups_;
  uint32_t num_groups_ = 0;
  std::string last_group_;
};

// Null, or what is wrong with the structure of a block: nothing that a cursor would trip over. The
// order of groups is not checked.
const char* SignatureBlockError(std::string_view contents);

// Walks a block that SignatureBlockError has no objection to. The contents outlive it.
class SignatureBlockCursor {
 public:
  SignatureBlockCursor() = default;
  explicit SignatureBlockCursor(std::string_view contents);

  bool Valid() const { return valid_; }
  void Next();
  // Both require Valid(). The group lives until the cursor is moved.
  std::string_view group() const { return group_; }
  const Signature& signature() const { return signature_; }
  // Of the whole block.
  uint32_t num_groups() const { return num_groups_; }

 private:
  std::string_view rest_;
  uint32_t num_groups_ = 0;
  uint32_t num_left_ = 0;
  bool valid_ = false;
  std::string group_;
  Signature signature_;
};

// What a table's signatures are, and where.
struct SignatureIndex {
  struct Block {
    uint64_t stored_bytes = 0;  // without the trailer, as in a BlockHandle
    std::string_view last_group;
  };

  uint64_t seed = 0;
  std::vector<std::string_view> fields;  // ascending
  std::vector<Block> blocks;             // one behind the other

  std::string Encode() const;
  // The strings point into `contents`. Null, or what is wrong with the bytes.
  const char* Decode(std::string_view contents);
  // Of all blocks, with their trailers.
  uint64_t BlocksBytes() const;
  bool HasField(std::string_view field) const;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SIGNATURE_BLOCK_H_
