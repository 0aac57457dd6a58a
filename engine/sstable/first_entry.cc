// SstableReader::FindFirst: a look-up of the beginning of a key.
#include <algorithm>

#include "absl/functional/function_ref.h"
#include "engine/base/shared_prefix.h"
#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

namespace {

// To pass so many takes no longer than to ask a filter and to search the block once more.
constexpr int kMostEntriesPassed = 16;
constexpr ptrdiff_t kLineBytes = 64;
constexpr ptrdiff_t kPrefetchedBehind = 4 * kLineBytes;

}  // namespace

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

// Each key of a block is stored as what it shares with the one before it, and the rest. Of a key
// that is less than the prefix, with `common` bytes of it, that says without any comparison where
// the next stands: one that shares more with it is less than the prefix, too; one that shares fewer
// is greater there, and so are all behind it.
SstableReader::NextEntry SstableReader::FindNext(std::string_view last_key, std::string_view prefix,
                                                 PointLookup* steps,
                                                 absl::FunctionRef<void(const FirstEntry&)> visit) {
  if (steps->next_entry_ == nullptr) return NextEntry::kUnknown;
  size_t common = CommonPrefix(last_key, prefix);
  // A key with the prefix would be found again in place of the one behind it.
  const bool is_before = common < prefix.size() &&
                         (common == last_key.size() || static_cast<uint8_t>(last_key[common]) <
                                                           static_cast<uint8_t>(prefix[common]));
  if (!is_before) return NextEntry::kUnknown;
  const DataBlock block(steps->block_ ? steps->block_->data() : steps->mapped_);
  const char* next = steps->next_entry_;
  const char* value = steps->next_value_;
  // Values lie one behind the other, and those behind this one are mostly wanted next.
  __builtin_prefetch(value + kPrefetchedBehind);
  __builtin_prefetch(value + kPrefetchedBehind + kLineBytes);
  for (int i = 0; i < kMostEntriesPassed && next != block.end(); i++) {
    const BlockEntry entry = block.EntryAt(next);
    // A whole key, at a restart, whatever it shares with the one before.
    if (entry.shared == 0) common = 0;
    if (entry.shared < common) return NextEntry::kAbsent;
    if (entry.shared == common) {
      const std::string_view wanted = prefix.substr(common);
      const std::string_view rest = entry.delta_view();
      const size_t more = CommonPrefix(rest, wanted);
      if (more == wanted.size()) {
        steps->next_entry_ = entry.next;
        steps->next_value_ = value + entry.value_length;
        visit({common, rest, entry.trailer, std::string_view(value, entry.value_length)});
        return NextEntry::kFound;
      }
      const bool is_behind = more < rest.size() &&
                             static_cast<uint8_t>(rest[more]) > static_cast<uint8_t>(wanted[more]);
      if (is_behind) return NextEntry::kAbsent;
      common += more;
    }
    next = entry.next;
    value += entry.value_length;
  }
  return NextEntry::kUnknown;
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
