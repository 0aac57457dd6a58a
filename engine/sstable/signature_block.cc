#include "engine/sstable/signature_block.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/shared_prefix.h"

namespace winnow {

namespace {

// Both kinds of blocks begin with it: no data block does, so that a search for data blocks in a
// damaged file (data_block_scan.h) takes neither for one.
constexpr uint32_t kNoDataBlock = 0;

// One group of a block, as it is stored.
struct StoredGroup {
  uint32_t shared = 0;
  std::string_view rest;
  const char* signature = nullptr;
};

bool GetGroup(std::string_view* input, StoredGroup* group) {
  if (!GetVarint32(input, &group->shared) || !GetLengthPrefixed(input, &group->rest) ||
      input->size() < Signature::kBytes) {
    return false;
  }
  group->signature = input->data();
  input->remove_prefix(Signature::kBytes);
  return true;
}

}  // namespace

void SignatureBlockBuilder::Add(std::string_view group, const Signature& signature) {
  const size_t shared = empty() ? 0 : CommonPrefix(last_group_, group);
  PutVarint32(&groups_, static_cast<uint32_t>(shared));
  PutLengthPrefixed(&groups_, group.substr(shared));
  signature.AppendTo(&groups_);
  last_group_.assign(group);
  num_groups_++;
}

std::string SignatureBlockBuilder::Finish() {
  std::string contents;
  contents.reserve(EstimatedBytes());
  PutFixed32(&contents, kNoDataBlock);
  PutFixed32(&contents, num_groups_);
  contents.append(groups_);
  groups_.clear();
  num_groups_ = 0;
  return contents;
}

const char* SignatureBlockError(std::string_view contents) {
  constexpr const char* kMalformed = "malformed signatures";
  uint32_t start = 0;
  uint32_t num_groups = 0;
  if (!GetFixed32(&contents, &start) || start != kNoDataBlock ||
      !GetFixed32(&contents, &num_groups) || num_groups == 0) {
    return kMalformed;
  }
  uint64_t length = 0;  // of the group before
  for (; num_groups > 0; num_groups--) {
    StoredGroup group;
    if (!GetGroup(&contents, &group) || group.shared > length) return kMalformed;
    length = group.shared + group.rest.size();
  }
  return contents.empty() ? nullptr : kMalformed;
}

SignatureBlockCursor::SignatureBlockCursor(std::string_view contents) : rest_(contents) {
  uint32_t start = 0;
  valid_ = GetFixed32(&rest_, &start) && GetFixed32(&rest_, &num_groups_);
  num_left_ = num_groups_;
  if (valid_) Next();
}

void SignatureBlockCursor::Next() {
  StoredGroup group;
  valid_ = num_left_ > 0 && GetGroup(&rest_, &group);
  if (!valid_) return;
  num_left_--;
  group_.resize(group.shared);
  group_.append(group.rest);
  signature_ = Signature::Decode(group.signature);
}

std::string SignatureIndex::Encode() const {
  std::string contents;
  PutFixed32(&contents, kNoDataBlock);
  PutFixed64(&contents, seed);
  PutVarint64(&contents, fields.size());
  for (const std::string_view field : fields) PutLengthPrefixed(&contents, field);
  PutVarint64(&contents, blocks.size());
  for (const Block& block : blocks) {
    PutVarint64(&contents, block.stored_bytes);
    PutLengthPrefixed(&contents, block.last_group);
  }
  return contents;
}

// Each field and each block takes two bytes or more, so that a number which the bytes do not bear
// out ends the loop before it takes memory. Order is checked here, since the cursor searches by it.
const char* SignatureIndex::Decode(std::string_view contents) {
  constexpr const char* kMalformed = "malformed signature index";
  uint32_t start = 0;
  uint64_t count = 0;
  fields.clear();
  blocks.clear();
  if (!GetFixed32(&contents, &start) || start != kNoDataBlock || !GetFixed64(&contents, &seed) ||
      !GetVarint64(&contents, &count) || count == 0) {
    return kMalformed;
  }
  for (; count > 0; count--) {
    std::string_view field;
    if (!GetLengthPrefixed(&contents, &field)) return kMalformed;
    if (!fields.empty() && field <= fields.back()) return "signed fields out of order";
    fields.push_back(field);
  }
  if (!GetVarint64(&contents, &count)) return kMalformed;
  for (; count > 0; count--) {
    Block block;
    if (!GetVarint64(&contents, &block.stored_bytes) || block.stored_bytes == 0 ||
        block.stored_bytes > kMaxBlockContentsBytes ||
        !GetLengthPrefixed(&contents, &block.last_group)) {
      return kMalformed;
    }
    if (!blocks.empty() && block.last_group <= blocks.back().last_group) {
      return "signature blocks out of order";
    }
    blocks.push_back(block);
  }
  return contents.empty() ? nullptr : kMalformed;
}

uint64_t SignatureIndex::BlocksBytes() const {
  uint64_t bytes = 0;
  for (const Block& block : blocks) bytes += block.stored_bytes + kBlockTrailerBytes;
  return bytes;
}

bool SignatureIndex::HasField(std::string_view field) const {
  return std::binary_search(fields.begin(), fields.end(), field);
}

}  // namespace winnow
