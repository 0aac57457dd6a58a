// LevelDB's status, slices and iterators, and RocksDB's, which have the same calls.
#ifndef WINNOW_TOOLS_WINNOW_PEER_TYPES_H_
#define WINNOW_TOOLS_WINNOW_PEER_TYPES_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "tools/winnow/peer.h"

namespace winnow::cli {

template <typename PeerStatus>
absl::Status ToStatus(const PeerStatus& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsCorruption()) return absl::DataLossError(status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(status.ToString());
  return absl::UnavailableError(status.ToString());
}

template <typename Slice>
std::string_view View(const Slice& slice) {
  return {slice.data(), slice.size()};
}

// Begins at the first pair and ends at the first error: LevelDB steps over a block that it cannot
// read, and only its status remembers it.
template <typename Iterator>
class IteratorCursor final : public PeerCursor {
 public:
  explicit IteratorCursor(Iterator* iterator) : iterator_(iterator) { iterator_->SeekToFirst(); }
  bool Valid() const override { return iterator_->Valid() && iterator_->status().ok(); }
  void Next() override { iterator_->Next(); }
  std::string_view key() const override { return View(iterator_->key()); }
  std::string_view value() const override { return View(iterator_->value()); }
  absl::Status status() const override { return ToStatus(iterator_->status()); }

 private:
  const std::unique_ptr<Iterator> iterator_;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_PEER_TYPES_H_
