#include "engine/sstable/key_hashes.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

constexpr uint64_t kHashBytes = sizeof(uint64_t);
constexpr uint64_t kFramingBytes = KeyHashLayout::kHeaderBytes + kBlockTrailerBytes;
constexpr uint64_t kFullBlockBytes = KeyHashLayout::kHashesPerBlock * kHashBytes + kFramingBytes;

uint64_t BlocksFor(uint64_t things, uint64_t in_a_block) {
  return things / in_a_block + (things % in_a_block == 0 ? 0 : 1);
}

// One block at a time, in memory that is used again.
class BlockContents {
 public:
  void Add(uint64_t hash) {
    if (bytes_.empty()) bytes_.assign(KeyHashLayout::kHeaderBytes, '\0');
    PutFixed64(&bytes_, hash);
    count_++;
  }
  uint32_t count() const { return count_; }

  // The zero in front is what no data block begins with: one that was found while searching for
  // data is none.
  std::string_view Finish() {
    EncodeFixed32(bytes_.data() + sizeof(uint32_t), count_);
    return bytes_;
  }
  void Reset() {
    bytes_.clear();
    count_ = 0;
  }

 private:
  std::string bytes_;
  uint32_t count_ = 0;
};

}  // namespace

uint64_t KeyHashLayout::BytesOf(uint64_t num_hashes) {
  return num_hashes * kHashBytes + BlocksFor(num_hashes, kHashesPerBlock) * kFramingBytes;
}

uint64_t KeyHashLayout::num_blocks() const { return BlocksFor(stored_bytes_, kFullBlockBytes); }

uint64_t KeyHashLayout::num_hashes() const {
  const uint64_t in_last = stored_bytes_ % kFullBlockBytes;
  return stored_bytes_ / kFullBlockBytes * kHashesPerBlock +
         (in_last <= kFramingBytes ? 0 : (in_last - kFramingBytes) / kHashBytes);
}

uint64_t KeyHashLayout::hashes_in(uint64_t block) const {
  return std::min(kHashesPerBlock, num_hashes() - block * kHashesPerBlock);
}

BlockHandle KeyHashLayout::handle(uint64_t block) const {
  return {start_ + block * kFullBlockBytes, kHeaderBytes + hashes_in(block) * kHashBytes};
}

const char* KeyHashBlockError(std::string_view contents) {
  if (contents.size() < KeyHashLayout::kHeaderBytes || DecodeFixed32(contents.data()) != 0) {
    return "malformed header";
  }
  const uint64_t count = DecodeFixed32(contents.data() + sizeof(uint32_t));
  if (count == 0 || contents.size() != KeyHashLayout::kHeaderBytes + count * kHashBytes) {
    return "the number of hashes does not fit its size";
  }
  return nullptr;
}

absl::Status WriteKeyHashes(const filter::FilterBuilder& builder,
                            absl::FunctionRef<absl::Status(std::string_view contents)> write) {
  BlockContents block;
  absl::Status status;
  const auto write_block = [&] {
    status = write(block.Finish());
    block.Reset();
  };
  builder.ForEachHash([&](uint64_t hash) {
    if (!status.ok()) return;
    block.Add(hash);
    if (block.count() == KeyHashLayout::kHashesPerBlock) write_block();
  });
  if (status.ok() && block.count() > 0) write_block();
  return status;
}

KeyHashCursor::KeyHashCursor(const SstableReader& table, const SstableReadOptions& options)
    : file_(table.file_),
      options_(options),
      layout_(table.key_hash_layout()),
      buffer_(table.file_, table.key_hash_layout().handle(layout_.num_blocks() - 1).end(),
              /*in_pages=*/true) {}

// The structure was checked with the checksum (BlockFile); that the block has as many hashes as its
// place says is checked here, or a compressed one could have any number.
absl::Status KeyHashCursor::Read(uint64_t block, std::vector<uint64_t>* hashes) {
  hashes->clear();
  const BlockHandle handle = layout_.handle(block);
  WINNOW_ASSIGN_OR_RETURN(const std::string_view stored,
                          buffer_.Get(handle, BlockKind::kKeyHashes, options_.readahead_bytes,
                                      ReadaheadBuffer::Direction::kForward));
  BlockFile::ReadOptions read_options;
  read_options.counters = options_.counters;
  std::string_view contents;
  WINNOW_ASSIGN_OR_RETURN(const BlockRef pin, file_.Unwrap(stored, handle, BlockKind::kKeyHashes,
                                                           read_options, &contents));
  if (contents.size() != handle.size) {
    return file_.Corruption(handle, BlockKind::kKeyHashes, "is compressed");
  }
  hashes->reserve(KeyHashLayout::kHashesPerBlock);
  for (size_t at = KeyHashLayout::kHeaderBytes; at < contents.size(); at += kHashBytes) {
    hashes->push_back(DecodeFixed64(contents.data() + at));
  }
  return absl::OkStatus();
}

}  // namespace winnow
