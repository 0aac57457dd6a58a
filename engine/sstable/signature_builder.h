// Gathers the signatures of a table while its entries are added.
#ifndef WINNOW_ENGINE_SSTABLE_SIGNATURE_BUILDER_H_
#define WINNOW_ENGINE_SSTABLE_SIGNATURE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "engine/base/signed_entry.h"
#include "engine/sstable/format.h"
#include "engine/sstable/signature_block.h"

namespace winnow {

// Of each group that has a value of a signed field; a group without one would match nothing, and is
// left out. All values of a group count, those of old versions too. Memory: the blocks, before
// compression, and one group, however many entries that has.
class SignatureBuilder {
 public:
  // A block is cut once it holds `block_bytes`.
  SignatureBuilder(SignedEntryParser parser, const SignedFields& fields, uint64_t seed,
                   size_t block_bytes)
      : parser_(parser), fields_(fields), seed_(seed), block_bytes_(block_bytes) {}

  // In the order of keys.
  void Add(std::string_view internal_key, std::string_view value);

  // An entry was none that the parser knows: the table then has no signatures, which could not say
  // what that entry means.
  bool is_given_up() const { return is_given_up_; }
  uint64_t num_groups() const { return num_groups_; }

  // Writes all blocks, then the index, through `write`, which gives the place of each.
  using WriteBlock = absl::FunctionRef<absl::StatusOr<BlockHandle>(std::string_view contents)>;
  absl::Status Finish(WriteBlock write);

  // Of what Finish would write now, before compression: held in memory till then.
  uint64_t EstimatedBytes() const { return finished_bytes_ + block_.EstimatedBytes(); }

 private:
  void EndGroup();
  void CutBlock();

  const SignedEntryParser parser_;
  const SignedFields fields_;
  const uint64_t seed_;
  const size_t block_bytes_;
  bool is_given_up_ = false;
  uint64_t num_groups_ = 0;

  // Of the present group; its signature is empty if it has no value so far.
  std::string group_;
  Signature signature_;

  SignatureBlockBuilder block_;
  struct FinishedBlock {
    std::string contents;
    std::string last_group;
  };
  std::vector<FinishedBlock> finished_;
  uint64_t finished_bytes_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SIGNATURE_BUILDER_H_
