#include "engine/sstable/index_block.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/base/coding.h"
#include "engine/base/shared_prefix.h"
#include "engine/sstable/equal_heads.h"

namespace winnow {

namespace {

// Offsets in the header; the sections follow in the order of the comment in index_block.h.
constexpr size_t kNumEntriesAt = 0;     // u32
constexpr size_t kFlagsAt = 4;          // u32
constexpr size_t kFirstOffsetAt = 8;    // u64
constexpr size_t kPrefixBytesAt = 16;   // u32
constexpr size_t kReservedWordAt = 20;  // u32, 0
constexpr size_t kHeaderBytes = 24;

constexpr uint32_t kHasTrailers = 1;
constexpr uint32_t kWideEnds = 2;  // block ends are u64 instead of u32

struct Sections {
  uint64_t heads, ends, trailers, suffix_ends, prefix, suffixes;
};

// In 64 bits and from 32-bit inputs, so that no sum wraps around, whatever the header says.
//
// The heads come first and lie together: a search reads log2(n) of them and, but for ties, nothing
// else but the one block end that it wants.
Sections LayOut(uint64_t num_entries, uint32_t flags, uint64_t prefix_bytes) {
  Sections at;
  at.heads = kHeaderBytes;
  at.ends = at.heads + 8 * num_entries;
  at.trailers = at.ends + ((flags & kWideEnds) != 0 ? 8 : 4) * num_entries;
  at.suffix_ends = at.trailers + ((flags & kHasTrailers) != 0 ? 8 * num_entries : 0);
  at.prefix = at.suffix_ends + 4 * num_entries;
  at.suffixes = at.prefix + prefix_bytes;
  return at;
}

}  // namespace

void IndexBuilder::Add(std::string_view separator, uint64_t block_end) {
  separators_.append(separator);
  separator_ends_.push_back(separators_.size());
  block_ends_.push_back(block_end);
}

std::string_view IndexBuilder::separator(size_t entry) const {
  const size_t start = SeparatorStart(entry);
  return std::string_view(separators_).substr(start, separator_ends_[entry] - start);
}

// At least one entry, so that cutting always ends.
size_t IndexBuilder::CutAfter(size_t first, size_t bytes) const {
  size_t cut = first + 1;
  size_t total = 0;
  while (cut < size()) {
    total += separator(cut - 1).size() + kFixedBytesPerEntry;
    if (total >= bytes) break;
    cut++;
  }
  return cut;
}

// An upper bound: separators with their trailers, and every optional section.
size_t IndexBuilder::EstimatedBytes() const {
  return kHeaderBytes + separators_.size() + size() * kFixedBytesPerEntry;
}

size_t IndexBuilder::memory_bytes() const {
  return separators_.capacity() + separator_ends_.capacity() * sizeof(size_t) +
         block_ends_.capacity() * sizeof(uint64_t);
}

std::string IndexBuilder::Encode(size_t first, size_t last, uint64_t first_offset,
                                 bool share_prefix) const {
  const size_t count = last - first;
  size_t prefix_bytes = 0;
  uint32_t flags = 0;
  if (count > 0) {
    // Sorted bytewise, so that what the first and the last share, all do.
    if (share_prefix) {
      prefix_bytes = CommonPrefix(UserKey(separator(first)), UserKey(separator(last - 1)));
    }
    // Ends are relative to the first block, so that the partitions of a table of any size have
    // four-byte ones; a single-level index over 4 GiB of data needs eight.
    if (block_ends_[last - 1] - first_offset > std::numeric_limits<uint32_t>::max()) {
      flags |= kWideEnds;
    }
    // Nearly all separators have trailer 0 (see SstableBuilder): the section is left out if all
    // have.
    for (size_t i = first; i < last; i++) {
      if (Trailer(separator(i)) != 0) flags |= kHasTrailers;
    }
  }
  const Sections at = LayOut(count, flags, prefix_bytes);
  std::string out(at.suffixes, '\0');
  EncodeFixed32(&out[kNumEntriesAt], static_cast<uint32_t>(count));
  EncodeFixed32(&out[kFlagsAt], flags);
  EncodeFixed64(&out[kFirstOffsetAt], first_offset);
  EncodeFixed32(&out[kPrefixBytesAt], static_cast<uint32_t>(prefix_bytes));
  EncodeFixed32(&out[kReservedWordAt], 0);
  if (count > 0) out.replace(at.prefix, prefix_bytes, separator(first).substr(0, prefix_bytes));
  for (size_t i = 0; i < count; i++) {
    const std::string_view internal = separator(first + i);
    const std::string_view suffix = UserKey(internal).substr(prefix_bytes);
    const uint64_t end = block_ends_[first + i] - first_offset;
    // Big-endian as a number: comparing two heads as integers is comparing the bytes.
    EncodeFixed64(&out[at.heads + 8 * i], KeyPrefix64(suffix));
    if ((flags & kWideEnds) != 0) {
      EncodeFixed64(&out[at.ends + 8 * i], end);
    } else {
      EncodeFixed32(&out[at.ends + 4 * i], static_cast<uint32_t>(end));
    }
    if ((flags & kHasTrailers) != 0) EncodeFixed64(&out[at.trailers + 8 * i], Trailer(internal));
    out.append(suffix);
    EncodeFixed32(&out[at.suffix_ends + 4 * i], static_cast<uint32_t>(out.size() - at.suffixes));
  }
  return out;
}

// Checks that every block lies inside of [first_offset, limit), is not empty, and starts where the
// one before ends; that suffixes ascend in place; and that nothing is left over. Whether separators
// ascend is not checked: a search in a wrong order ends at some valid entry, and finds too little
// but nothing wrong. SstableVerifier looks for that.
const char* IndexBlockError(std::string_view contents, uint64_t limit) {
  if (contents.size() < kHeaderBytes) return "shorter than its header";
  const uint64_t count = DecodeFixed32(contents.data() + kNumEntriesAt);
  const uint32_t flags = DecodeFixed32(contents.data() + kFlagsAt);
  const uint64_t first_offset = DecodeFixed64(contents.data() + kFirstOffsetAt);
  const uint64_t prefix_bytes = DecodeFixed32(contents.data() + kPrefixBytesAt);
  if ((flags & ~(kHasTrailers | kWideEnds)) != 0) return "unknown flags";
  if (DecodeFixed32(contents.data() + kReservedWordAt) != 0) return "reserved field is not zero";
  const Sections at = LayOut(count, flags, prefix_bytes);
  if (at.suffixes > contents.size()) return "sections out of bounds";
  if (first_offset > limit) return "blocks out of bounds";

  uint64_t previous_end = 0;
  uint64_t previous_suffix_end = 0;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t end = (flags & kWideEnds) != 0
                             ? DecodeFixed64(contents.data() + at.ends + 8 * i)
                             : DecodeFixed32(contents.data() + at.ends + 4 * i);
    // A block has at least one byte of contents and its trailer; `end - previous_end` cannot wrap
    // around after the first comparison.
    if (end <= previous_end || end - previous_end <= kBlockTrailerBytes ||
        end > limit - first_offset) {
      return "blocks out of bounds";
    }
    previous_end = end;
    const uint64_t suffix_end = DecodeFixed32(contents.data() + at.suffix_ends + 4 * i);
    if (suffix_end < previous_suffix_end) return "separators out of bounds";
    previous_suffix_end = suffix_end;
  }
  if (at.suffixes + previous_suffix_end != contents.size()) return "separators out of bounds";
  return nullptr;
}

// Pointers to all sections, so that a search adds to a base and loads.
IndexBlock::IndexBlock(const char* contents)
    : num_entries_(DecodeFixed32(contents + kNumEntriesAt)),
      first_offset_(DecodeFixed64(contents + kFirstOffsetAt)) {
  const uint32_t flags = DecodeFixed32(contents + kFlagsAt);
  const Sections at = LayOut(num_entries_, flags, DecodeFixed32(contents + kPrefixBytesAt));
  wide_ = (flags & kWideEnds) != 0;
  heads_ = contents + at.heads;
  ends_ = contents + at.ends;
  trailers_ = (flags & kHasTrailers) != 0 ? contents + at.trailers : nullptr;
  suffix_ends_ = contents + at.suffix_ends;
  prefix_ = SharedPrefix({contents + at.prefix, at.suffixes - at.prefix});
  suffixes_ = contents + at.suffixes;
}

std::string IndexBlock::separator(uint32_t entry) const {
  std::string key(prefix_.bytes());
  key.append(suffix(entry));
  PutFixed64(&key, TrailerAt(entry));
  return key;
}

// Lets Get learn, without reading another block, that a newer version of its key stands at the end
// of the block before.
bool IndexBlock::StraddlesWith(uint32_t entry, std::string_view user_key) const {
  // Only a separator that is a whole internal key has a trailer: see SstableBuilder.
  const std::string_view prefix = prefix_.bytes();
  if (TrailerAt(entry) == 0 || !user_key.starts_with(prefix)) return false;
  return user_key.substr(prefix.size()) == suffix(entry);
}

// Under the bytewise order, in three steps, of which the third is rare:
//
// 1. Compare with the prefix that all separators share; a key that differs there is before all
//    entries or behind all.
// 2. Lower bound over the heads, the eight bytes behind the prefix. Unless a head equals the key's,
//    this is the answer: heads order as the keys do.
// 3. Among entries with an equal head compare whole suffixes, then trailers.
//
// KeyPrefix64 pads short keys with zeros: "a" and "a\0" have one head, and step 3 tells them apart.
uint32_t IndexBlock::Find(const InternalKeyComparator& comparator, std::string_view user_key,
                          uint64_t trailer) const {
  if (!comparator.is_bytewise()) {
    return LowerBound(0, num_entries_, [&](uint32_t entry) {
      const int order = comparator.CompareUserKeys(suffix(entry), user_key);
      return order != 0 ? order < 0 : TrailerAt(entry) > trailer;
    });
  }
  if (const int order = prefix_.Compare(user_key); order != 0) return order < 0 ? 0 : num_entries_;
  const uint64_t head = prefix_.HeadOf(user_key);

  // Branch-free: the comparison becomes a conditional move, since its outcome is a coin toss.
  const char* base = heads_;
  size_t left = num_entries_;
  while (left > 1) {
    const size_t half = left / 2;
    base += DecodeFixed64(base + 8 * (half - 1)) < head ? 8 * half : 0;
    left -= half;
  }
  uint32_t first = static_cast<uint32_t>((base - heads_) / 8);
  if (left == 1 && HeadAt(first) < head) first++;

  if (first == num_entries_ || HeadAt(first) != head) return first;
  return FindAmongEqualHeads(*this, first, user_key.substr(prefix_.bytes().size()), trailer);
}

bool IndexBlock::HeadsAgree() const {
  for (uint32_t i = 0; i < num_entries_; i++) {
    if (HeadAt(i) != KeyPrefix64(suffix(i))) return false;
  }
  return true;
}

}  // namespace winnow
