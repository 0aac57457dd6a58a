#include "engine/sstable/data_block.h"

#include <algorithm>
#include <string>

namespace winnow {

namespace {

// How many bytes `a` and `b`, both of at least `length` bytes, have in common at their start.
// Eight bytes at a time; in little-endian order the lowest byte that differs is the first one.
size_t CommonLength(const char* a, const char* b, size_t length) {
  size_t i = 0;
  for (; length - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
    const uint64_t difference = DecodeFixed64(a + i) ^ DecodeFixed64(b + i);
    if (difference != 0) return i + static_cast<size_t>(std::countr_zero(difference)) / 8;
  }
  while (i < length && a[i] == b[i]) i++;
  return i;
}

bool IsSmallerByte(char a, char b) { return static_cast<uint8_t>(a) < static_cast<uint8_t>(b); }

// Checks the entries one after the other. Reads nothing outside [begin, end) but what the fixed
// trailer width promises, which is checked first.
// Offsets must add up: each restart points to the entry and the value that a walk from the start
// reaches there, keys end where values begin, and values end where the block ends. So no two
// entries overlap and no bytes are left unaccounted for.
const char* EntriesError(const DataBlock& block, std::string_view contents, uint32_t width) {
  const char* at = block.begin();
  const char* const limit = block.end();
  const char* value = block.end();
  const char* const values_limit = contents.data() + contents.size();
  // What the next entry may share: nothing at a restart, else at most its predecessor's whole key.
  // A reader copies that many bytes out of its key buffer unchecked.
  uint64_t previous_length = 0;
  for (uint32_t i = 0; i < block.num_entries(); i++) {
    const bool is_restart = i % block.restart_interval() == 0;
    if (is_restart) {
      const uint32_t restart = i / block.restart_interval();
      if (block.RestartEntry(restart) != at || block.RestartValue(restart) != value) {
        return "restart does not point to its entry";
      }
    }
    uint32_t shared;
    uint32_t unshared;
    uint32_t value_length;
    if ((at = DecodeVarint32(at, limit, &shared)) == nullptr ||
        (at = DecodeVarint32(at, limit, &unshared)) == nullptr ||
        (at = DecodeVarint32(at, limit, &value_length)) == nullptr ||
        static_cast<uint64_t>(limit - at) < uint64_t{width} + unshared) {
      return "entry runs beyond the key section";
    }
    if (shared > (is_restart ? 0 : previous_length)) return "entry shares more than there is";
    if (static_cast<uint64_t>(values_limit - value) < value_length) {
      return "value runs beyond the block";
    }
    previous_length = uint64_t{shared} + unshared;
    at += width + unshared;
    value += value_length;
  }
  if (at != limit) return "bytes between entries and values";
  if (value != values_limit) return "bytes after the last value";
  return nullptr;
}

}  // namespace

const char* DataBlockError(std::string_view contents) {
  using Layout = DataBlockLayout;
  if (contents.size() < Layout::kHeaderBytes) return "shorter than its header";
  const uint64_t num_entries = DecodeFixed32(contents.data() + Layout::kNumEntriesAt);
  const uint64_t entries_at = DecodeFixed32(contents.data() + Layout::kEntriesAt);
  const uint64_t values_at = DecodeFixed32(contents.data() + Layout::kValuesAt);
  uint16_t interval;
  std::memcpy(&interval, contents.data() + Layout::kRestartIntervalAt, sizeof(interval));
  // Eight bytes are read for each trailer, whatever its width, and masked. That may reach beyond
  // the last entry, which is why readable bytes must follow a block
  // (CachedBlock::kReadablePadding).
  const uint32_t width = static_cast<uint8_t>(contents[Layout::kTrailerWidthAt]);
  if (contents[Layout::kFlagsAt] != 0) return "unknown flags";
  if (num_entries == 0) return "no entries";
  if (interval == 0) return "restart interval 0";
  if (width > 8) return "trailer width above 8";
  // In 64 bits, where neither the sum nor the product below can wrap around.
  const uint64_t num_restarts = (num_entries + interval - 1) / interval;
  if (entries_at != Layout::kHeaderBytes + num_restarts * Layout::kRestartBytes ||
      values_at < entries_at || values_at > contents.size()) {
    return "sections out of bounds";
  }
  return EntriesError(DataBlock(contents.data()), contents, width);
}

// The checks that DataBlockError makes of a header, where the block's end is not known. They take a
// few instructions, since DataBlockScan makes them at every byte of a file.
uint64_t DataBlockKeysEnd(std::string_view beginning) {
  using Layout = DataBlockLayout;
  if (beginning.size() < Layout::kHeaderBytes) return 0;
  const uint64_t num_entries = DecodeFixed32(beginning.data() + Layout::kNumEntriesAt);
  const uint64_t entries_at = DecodeFixed32(beginning.data() + Layout::kEntriesAt);
  const uint64_t values_at = DecodeFixed32(beginning.data() + Layout::kValuesAt);
  uint16_t interval;
  std::memcpy(&interval, beginning.data() + Layout::kRestartIntervalAt, sizeof(interval));
  const bool is_possible = beginning[Layout::kFlagsAt] == 0 && num_entries > 0 && interval > 0 &&
                           static_cast<uint8_t>(beginning[Layout::kTrailerWidthAt]) <= 8;
  if (!is_possible) return 0;
  const uint64_t num_restarts = (num_entries + interval - 1) / interval;
  const bool adds_up = entries_at == Layout::kHeaderBytes + num_restarts * Layout::kRestartBytes &&
                       // Three lengths of a byte at least.
                       values_at >= entries_at + 3 * num_entries;
  return adds_up ? values_at : 0;
}

// O(entries). Neither restarts nor shared lengths are looked at: whoever believes the size reads
// the block, and then all of it is checked.
uint64_t DataBlockBytes(std::string_view keys) {
  using Layout = DataBlockLayout;
  const char* at = keys.data() + DecodeFixed32(keys.data() + Layout::kEntriesAt);
  const char* const limit = keys.data() + keys.size();
  const uint32_t width = static_cast<uint8_t>(keys[Layout::kTrailerWidthAt]);
  uint64_t size = keys.size();
  for (uint32_t left = DecodeFixed32(keys.data() + Layout::kNumEntriesAt); left > 0; left--) {
    uint32_t shared;
    uint32_t unshared;
    uint32_t value_length;
    if ((at = DecodeVarint32(at, limit, &shared)) == nullptr ||
        (at = DecodeVarint32(at, limit, &unshared)) == nullptr ||
        (at = DecodeVarint32(at, limit, &value_length)) == nullptr ||
        static_cast<uint64_t>(limit - at) < uint64_t{width} + unshared) {
      return 0;
    }
    at += width + unshared;
    size += value_length;
  }
  return at == limit ? size : 0;
}

// Out of line, to keep the three-byte form small wherever it is inlined. No varint can run beyond
// the end here: DataBlockError has decoded them with the same limit.
[[gnu::noinline]] DataBlock::Lengths DataBlock::LongLengthsAt(const char* at) const {
  Lengths lengths;
  at = DecodeVarint32(at, end(), &lengths.shared);
  at = DecodeVarint32(at, end(), &lengths.unshared);
  lengths.trailer = DecodeVarint32(at, end(), &lengths.value_length);
  return lengths;
}

// The last restart whose key is_before says is smaller than what is sought; 0 if there is none.
template <typename IsBefore>
uint32_t DataBlock::LastRestartBefore(const IsBefore& is_before) const {
  // Invariant: restart `low` is smaller than what is sought, unless it is the first, and those
  // above `high` are not. `middle` is rounded up, or two restarts would not become one.
  uint32_t low = 0;
  uint32_t high = num_restarts() - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    const BlockEntry entry = EntryAt(RestartEntry(middle));
    if (is_before(entry.delta_view(), entry.trailer)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Follows how many bytes the sought key has in common with the entry before (`matched`), which is
// smaller. An entry that shares more than that with its predecessor is smaller as well; one that
// shares less differs from the sought key where its predecessor did not, and is greater; only one
// that shares exactly that much has to be looked at. No key is ever put together.
BlockPosition DataBlock::SeekBytewise(std::string_view user_key, uint64_t trailer) const {
  const uint32_t restart = LastRestartBefore([&](std::string_view key, uint64_t key_trailer) {
    // The keys of restarts are whole, so that their delta is the key.
    const int order = CompareBytes(key, user_key);
    return order != 0 ? order < 0 : key_trailer > trailer;
  });

  // Invariant of the walk: every entry before position.entry is less than the sought key; `matched`
  // is what the last of them has in common with it. The walk starts at a restart, for which nothing
  // is known (matched = 0), and may run into the next one, where it is reset: a restart shares 0
  // bytes, which would otherwise read as "differs at the first byte".
  // All in locals that nobody has the address of: the walk is the most of a look-up's instructions.
  BlockPosition position;
  const char* at = RestartEntry(restart);
  const char* value = RestartValue(restart);
  uint32_t index = restart * restart_interval_;
  uint32_t next_restart = index;
  size_t matched = 0;
  size_t common_before = 0;
  bool user_key_before = false;
  const char* const key = user_key.data();
  const char* const limit = end();
  const uint32_t trailer_width = trailer_width_;
  while (at < limit) {
    const Lengths lengths = LengthsAt(at);
    const char* const delta = lengths.trailer + trailer_width;
    if (index == next_restart) {
      matched = 0;  // stored whole: says nothing about the entry before
      next_restart += restart_interval_;
    }
    // Greater, without looking at a byte of it. Its first `shared` bytes are those of the sought
    // key, since shared < matched: that is what BlockCursor::Seek relies on.
    if (lengths.shared < matched) {
      position.has_entry = true;
      position.shared = position.common = lengths.shared;
      break;
    }
    // Where the first byte of the delta decides, which is mostly so, nothing else is looked at.
    if (lengths.shared == matched && (lengths.unshared == 0 || matched == user_key.size() ||
                                      !IsSmallerByte(delta[0], key[matched]))) {
      const size_t left = user_key.size() - matched;
      const size_t comparable = std::min<size_t>(left, lengths.unshared);
      const size_t common = CommonLength(delta, key + matched, comparable);
      const bool equal = common == left && common == lengths.unshared;
      // In the part that both have, the first differing byte decides; if one is a prefix of the
      // other, the longer one is greater.
      const bool greater = common < comparable ? IsSmallerByte(key[matched + common], delta[common])
                                               : common < lengths.unshared;
      if (greater || (equal && TrailerOf(lengths) <= trailer)) {
        position.has_entry = true;
        position.user_key_equal = equal;
        position.shared = lengths.shared;
        position.common = static_cast<uint32_t>(matched + common);
        break;
      }
      // Equal user key but a newer version than sought: it lies before the position.
      user_key_before |= equal;
      matched += common;
    }
    value += lengths.value_length;
    at = delta + lengths.unshared;
    index++;
    common_before = matched;
  }
  position.entry = at;
  position.value = value;
  position.index = index;
  position.common_before = static_cast<uint32_t>(common_before);
  position.user_key_before = user_key_before;
  return position;
}

// The same under a comparator of the user's, which may look at any byte: whole keys are put
// together.
BlockPosition DataBlock::SeekByComparator(const InternalKeyComparator& comparator,
                                          std::string_view user_key, uint64_t trailer) const {
  const uint32_t restart = LastRestartBefore([&](std::string_view key, uint64_t key_trailer) {
    const int order = comparator.CompareUserKeys(key, user_key);
    return order != 0 ? order < 0 : key_trailer > trailer;
  });

  BlockPosition position;
  position.entry = RestartEntry(restart);
  position.value = RestartValue(restart);
  position.index = restart * restart_interval_;
  std::string key;
  while (position.entry < end()) {
    const BlockEntry entry = EntryAt(position.entry);
    // Until here the key of the entry before, which this one goes on from.
    key.resize(entry.shared);
    key.append(entry.delta_view());
    const int order = comparator.CompareUserKeys(key, user_key);
    if (order > 0 || (order == 0 && entry.trailer <= trailer)) {
      position.user_key_equal = order == 0;
      return position;
    }
    position.user_key_before |= order == 0;
    position.value += entry.value_length;
    position.entry = entry.next;
    position.index++;
  }
  return position;
}

}  // namespace winnow
