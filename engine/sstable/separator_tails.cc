#include "engine/sstable/separator_tails.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"

namespace winnow {

// Numbers first, the widest before the others, so that each lies on a multiple of its size.
SeparatorTails::Layout SeparatorTails::LayOut(const IndexBlock& index) {
  Layout at{};
  size_t rest_bytes = 0;
  for (uint32_t i = 0; i < index.size(); i++) {
    const size_t length = index.suffix(i).size();
    rest_bytes += RestBytes(length);
    at.has_wide_lengths = at.has_wide_lengths || length > kMostInByte;
    at.has_trailers = at.has_trailers || index.TrailerAt(i) != 0;
  }
  const size_t size = index.size();
  at.trailers = 0;
  at.starts = at.trailers + (at.has_trailers ? 8 * size : 0);
  at.lengths = at.starts + 4 * ((size + kGroup - 1) / kGroup);
  at.prefix = at.lengths + (at.has_wide_lengths ? 4 : 1) * size;
  at.rests = at.prefix + index.shared_prefix().bytes().size();
  at.end = at.rests + rest_bytes;
  return at;
}

// The bytes of all rests fit four, as those of all suffixes do in the index block.
SeparatorTails::SeparatorTails(const IndexBlock& index, const Layout& at, char* memory) {
  starts_ = memory + at.starts;
  trailers_ = at.has_trailers ? memory + at.trailers : nullptr;
  lengths_ = memory + at.lengths;
  rests_ = memory + at.rests;
  has_wide_lengths_ = at.has_wide_lengths;
  const std::string_view prefix = index.shared_prefix().bytes();
  std::copy(prefix.begin(), prefix.end(), memory + at.prefix);
  prefix_ = SharedPrefix({memory + at.prefix, prefix.size()});

  uint32_t start = 0;
  for (uint32_t i = 0; i < index.size(); i++) {
    const std::string_view suffix = index.suffix(i);
    if (i % kGroup == 0) EncodeFixed32(memory + at.starts + 4 * size_t{i / kGroup}, start);
    if (at.has_trailers) EncodeFixed64(memory + at.trailers + 8 * size_t{i}, index.TrailerAt(i));
    if (at.has_wide_lengths) {
      EncodeFixed32(memory + at.lengths + 4 * size_t{i}, static_cast<uint32_t>(suffix.size()));
    } else {
      memory[at.lengths + i] = static_cast<char>(suffix.size());
    }
    const std::string_view rest = suffix.substr(suffix.size() - RestBytes(suffix.size()));
    std::copy(rest.begin(), rest.end(), memory + at.rests + start);
    start += static_cast<uint32_t>(rest.size());
  }
}

std::string_view SeparatorTails::RestAt(uint32_t entry) const {
  size_t start = DecodeFixed32(starts_ + 4 * size_t{entry / kGroup});
  for (uint32_t i = entry - entry % kGroup; i < entry; i++) start += RestBytes(LengthAt(i));
  return {rests_ + start, RestBytes(LengthAt(entry))};
}

// Where either has no bytes behind its head, the other one has it for a prefix, but for the zeros
// that fill up heads: the longer one is the greater.
int SeparatorTails::CompareSuffix(uint32_t entry, std::string_view suffix) const {
  const size_t length = LengthAt(entry);
  if (std::min(length, suffix.size()) <= kHeadBytes) {
    return length < suffix.size() ? -1 : length > suffix.size() ? 1 : 0;
  }
  return CompareBytes(RestAt(entry), suffix.substr(kHeadBytes));
}

std::string SeparatorTails::Separator(uint32_t entry, uint64_t head) const {
  std::string key(prefix_.bytes());
  char bytes[kHeadBytes];
  EncodeFixed64(bytes, __builtin_bswap64(head));
  key.append(bytes, std::min(LengthAt(entry), kHeadBytes));
  key.append(RestAt(entry));
  PutFixed64(&key, TrailerAt(entry));
  return key;
}

}  // namespace winnow
