// Any bytes as the contents of a signature block, or of a signature index: the input's first byte
// says which. What is let through is walked, and written again from what was read.

#include "engine/sstable/signature_block.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using winnow::fuzz::Require;

std::string BlockSeed(int groups) {
  winnow::SignatureBlockBuilder builder;
  for (int i = 0; i < groups; i++) {
    builder.Add("row" + std::to_string(1000 + i),
                winnow::Signature("city", std::to_string(i % 7), 1));
  }
  return builder.Finish();
}

std::string IndexSeed(size_t fields, size_t blocks) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  winnow::SignatureIndex index;
  for (size_t i = 0; i < fields; i++) index.fields.push_back(names[i]);
  for (size_t i = 0; i < blocks; i++) index.blocks.push_back({4000 + i, names[i]});
  return index.Encode();
}

void ReadBlock(std::string_view contents) {
  if (winnow::SignatureBlockError(contents) != nullptr) return;
  uint64_t num_groups = 0;
  winnow::SignatureBlockCursor cursor(contents);
  for (; cursor.Valid(); cursor.Next()) num_groups++;
  Require(num_groups == cursor.num_groups() && num_groups > 0,
          "each group that is counted is there");
}

void ReadIndex(std::string_view contents) {
  winnow::SignatureIndex index;
  if (index.Decode(contents) != nullptr) return;
  const std::string again = index.Encode();
  winnow::SignatureIndex copy;
  Require(copy.Decode(again) == nullptr, "what is written can be read");
  Require(copy.fields == index.fields && copy.BlocksBytes() == index.BlocksBytes(),
          "and says the same");
  for (const std::string_view field : index.fields) Require(index.HasField(field), "it is found");
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const int groups : {1, 2, 40}) seeds.push_back(std::string(1, '\0') + BlockSeed(groups));
  for (const size_t blocks : {0, 1, 4}) seeds.push_back("\1" + IndexSeed(1 + blocks / 2, blocks));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view contents(reinterpret_cast<const char*>(data) + 1, size - 1);
  (data[0] & 1) == 0 ? ReadBlock(contents) : ReadIndex(contents);
  return 0;
}
