// SstableReader::FindFirst: a look-up of the beginning of a key.
#include <algorithm>

#include "absl/functional/function_ref.h"
#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// As Get it ends in one block, without an iterator, whose key buffer would have to be allocated.
// What is sought stands in front of all versions of the prefix as a key. Where the block has
// nothing behind that, or there was none, the prefix lies between a block's last key and its
// separator: then the next block begins with what is sought.
absl::Status SstableReader::FindFirst(const SstableReadOptions& options, FirstLookup* lookup,
                                      absl::FunctionRef<void(const FirstEntry&)> visit) const {
  const std::string_view prefix = lookup->prefix;
  lookup->filter_key_present = false;
  PointLookup& steps = *lookup->steps;
  steps.next_entry_ = nullptr;
  StartLookup(prefix, kMaxSequenceNumber, &steps, lookup->place);
  WINNOW_RETURN_IF_ERROR(FindBlock(options, &steps));
  BlockPosition position;
  if (steps.has_block_) {
    WINNOW_RETURN_IF_ERROR(LoadBlock(options, lookup->neighbour, &steps));
    const DataBlock block(steps.block_ ? steps.block_->data() : steps.mapped_);
    position = block.Seek(options_.comparator, prefix, steps.trailer_);
    if (position.has_entry && position.common == prefix.size()) [[likely]] {
      const BlockEntry entry = block.EntryAt(position.entry);
      lookup->filter_key_present = true;
      steps.next_entry_ = entry.next;
      steps.next_value_ = position.value + entry.value_length;
      visit({position.shared, entry.delta_view(), entry.trailer,
             std::string_view(position.value, entry.value_length)});
      return absl::OkStatus();
    }
    if (!position.has_entry) {
      SstableIterator iterator(*this, options);
      iterator.Seek(MakeInternalKey(prefix, kMaxSequenceNumber, kEntryTypeForSeek));
      if (!iterator.Valid()) WINNOW_RETURN_IF_ERROR(iterator.status());
      if (iterator.Valid() && UserKey(iterator.key()).starts_with(prefix)) {
        const std::string_view key = iterator.key();
        lookup->filter_key_present = true;
        visit({prefix.size(), UserKey(key).substr(prefix.size()), Trailer(key), iterator.value()});
        return absl::OkStatus();
      }
    }
  }
  // Keys that begin with all of the prefix would have been found.
  if (lookup->filter_key_bytes == 0 || lookup->filter_key_bytes == prefix.size()) {
    return absl::OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(lookup->filter_key_present, HasKeyBeside(options, position, *lookup));
  return absl::OkStatus();
}

// What stands right behind a key that is less than all that begin with the prefix, and begins with
// it, is the first that does.
bool SstableReader::FindNext(std::string_view last_key, std::string_view prefix, PointLookup* steps,
                             absl::FunctionRef<void(const FirstEntry&)> visit) {
  if (steps->next_entry_ == nullptr) return false;
  const DataBlock block(steps->block_ ? steps->block_->data() : steps->mapped_);
  if (steps->next_entry_ == block.end()) return false;
  const BlockEntry entry = block.EntryAt(steps->next_entry_);
  const bool is_it = entry.shared <= prefix.size() && last_key < prefix &&
                     last_key.substr(0, entry.shared) == prefix.substr(0, entry.shared) &&
                     entry.delta_view().starts_with(prefix.substr(entry.shared));
  if (!is_it) return false;
  const std::string_view value(steps->next_value_, entry.value_length);
  steps->next_entry_ = entry.next;
  steps->next_value_ += entry.value_length;
  visit({entry.shared, entry.delta_view(), entry.trailer, value});
  return true;
}

// Keys with one beginning lie together, so that if there are any, one is next to where the prefix
// stands. At the end of a block that takes another look.
absl::StatusOr<bool> SstableReader::HasKeyBeside(const SstableReadOptions& options,
                                                 const BlockPosition& position,
                                                 const FirstLookup& lookup) const {
  if (std::max(position.common, position.common_before) >= lookup.filter_key_bytes) return true;
  if (position.has_entry && position.index > 0) return false;
  const std::string_view wanted = lookup.prefix.substr(0, lookup.filter_key_bytes);
  SstableIterator iterator(*this, options);
  iterator.SeekForPrev(MakeInternalKey(lookup.prefix, kMaxSequenceNumber, kEntryTypeForSeek));
  WINNOW_RETURN_IF_ERROR(iterator.status());
  if (iterator.Valid() && UserKey(iterator.key()).starts_with(wanted)) return true;
  if (iterator.Valid()) {
    iterator.Next();
  } else {
    iterator.SeekToFirst();
  }
  WINNOW_RETURN_IF_ERROR(iterator.status());
  return iterator.Valid() && UserKey(iterator.key()).starts_with(wanted);
}

}  // namespace winnow
