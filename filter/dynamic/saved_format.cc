#include "filter/dynamic/saved_format.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "filter/format/field.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {
namespace internal {
namespace {

//   | magic | checksum | version, kind, ... to the end of the header, 128 bytes | payload |
//                       \________________ covered by the checksum ______________________/
//
// The payload's meaning belongs to each filter; here it is bytes. FORMAT.md has the table of
// offsets.

constexpr std::string_view kMagic("WNWSAVED", 8);
constexpr uint8_t kVersion = 1;

// Offsets; bytes not named are zero.
constexpr uint64_t kChecksumAt = 8;  // covers all later bytes
constexpr uint64_t kVersionAt = 16;
constexpr uint64_t kKindAt = 17;
constexpr uint64_t kParameterAt = 18;
constexpr uint64_t kOptionAt = 19;
constexpr uint64_t kNumLayersAt = 20;
constexpr uint64_t kLengthAt = 24;
constexpr uint64_t kHashSeedAt = 32;
constexpr uint64_t kCapacityAt = 40;
constexpr uint64_t kFprAt = 48;
constexpr uint64_t kNumSlotsAt = 56;
constexpr uint64_t kNumKeysAt = 64;
constexpr uint64_t kDetailAt = 72;  // three of 8 bytes
constexpr uint64_t kReservedAt = 96;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("saved filter: ", std::string(what)));
}

}  // namespace

// Length and checksum are still zero after this: they are known once the payload is there, and
// Finish fills them in.
SavedFilterWriter::SavedFilterWriter(const SavedHeader& header, uint64_t payload_bytes) {
  // Once, so that appending a large payload never copies it.
  bytes_.reserve(kSavedHeaderBytes + payload_bytes);
  bytes_.append(kMagic);
  bytes_.resize(kSavedHeaderBytes, '\0');
  StoreField(kVersion, kVersionAt, &bytes_);
  StoreField(static_cast<uint8_t>(header.kind), kKindAt, &bytes_);
  StoreField(header.parameter, kParameterAt, &bytes_);
  StoreField(header.option, kOptionAt, &bytes_);
  StoreField(header.num_layers, kNumLayersAt, &bytes_);
  StoreField(header.hash_seed, kHashSeedAt, &bytes_);
  StoreField(header.capacity, kCapacityAt, &bytes_);
  StoreField(header.fpr, kFprAt, &bytes_);
  StoreField(header.num_slots, kNumSlotsAt, &bytes_);
  StoreField(header.num_keys, kNumKeysAt, &bytes_);
  for (uint64_t i = 0; i < 3; ++i) StoreField(header.detail[i], kDetailAt + i * 8, &bytes_);
}

void SavedFilterWriter::AppendWord(uint64_t word) {
  bytes_.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

// The length comes first, since the checksum covers it: all bytes from the version on.
std::string SavedFilterWriter::Finish() && {
  StoreField<uint64_t>(bytes_.size(), kLengthAt, &bytes_);
  StoreField(HashKey(std::string_view(bytes_).substr(kVersionAt), 0), kChecksumAt, &bytes_);
  return std::move(bytes_);
}

// From what costs nothing to what reads every byte: magic, size, version, length, checksum. A field
// is believed to be what was written once the checksum is right, but not to make sense: each filter
// checks its own.
absl::StatusOr<SavedFilter> ParseSavedFilter(std::string_view bytes) {
  if (!LooksLikeSavedFilter(bytes)) return Damaged("does not begin with its magic bytes");
  if (bytes.size() < kSavedHeaderBytes) {
    return Damaged(
        absl::StrCat(bytes.size(), " bytes are shorter than the header of ", kSavedHeaderBytes));
  }
  // Before the checksum, whose place and extent another version may have changed: a newer file is
  // reported as newer, not as damaged.
  const int version = LoadField<uint8_t>(bytes, kVersionAt);
  if (version != kVersion) {
    return absl::UnimplementedError(absl::StrCat("saved filter: format version ", version,
                                                 "; this program knows version ", int{kVersion}));
  }
  // Before the checksum: a file that was cut off is named as such, not as damaged somewhere.
  if (LoadField<uint64_t>(bytes, kLengthAt) != bytes.size()) {
    return Damaged(absl::StrCat("has ", bytes.size(), " bytes, should have ",
                                LoadField<uint64_t>(bytes, kLengthAt)));
  }
  const uint64_t stored = LoadField<uint64_t>(bytes, kChecksumAt);
  const uint64_t computed = HashKey(bytes.substr(kVersionAt), 0);
  if (stored != computed) {
    return Damaged(
        absl::StrCat("checksum 0x", absl::Hex(computed), ", expected 0x", absl::Hex(stored)));
  }
  // Whatever a later writer puts there, a reader that does not know it must not ignore.
  if (!AreZeros(bytes.substr(kReservedAt, kSavedHeaderBytes - kReservedAt))) {
    return Damaged("reserved bytes in use");
  }
  SavedFilter saved;
  saved.header.kind = static_cast<SavedFilterKind>(LoadField<uint8_t>(bytes, kKindAt));
  saved.header.parameter = LoadField<uint8_t>(bytes, kParameterAt);
  saved.header.option = LoadField<uint8_t>(bytes, kOptionAt);
  saved.header.num_layers = LoadField<uint32_t>(bytes, kNumLayersAt);
  saved.header.hash_seed = LoadField<uint64_t>(bytes, kHashSeedAt);
  saved.header.capacity = LoadField<uint64_t>(bytes, kCapacityAt);
  saved.header.fpr = LoadField<double>(bytes, kFprAt);
  saved.header.num_slots = LoadField<uint64_t>(bytes, kNumSlotsAt);
  saved.header.num_keys = LoadField<uint64_t>(bytes, kNumKeysAt);
  for (uint64_t i = 0; i < 3; ++i) {
    saved.header.detail[i] = LoadField<uint64_t>(bytes, kDetailAt + i * 8);
  }
  // Borrowed from the caller for as long as the result is used.
  saved.payload = bytes.substr(kSavedHeaderBytes);
  // The enum holds any byte: this is where unknown ones are turned away.
  if (SavedFilterKindName(saved.header.kind) == "unknown") {
    return absl::UnimplementedError(absl::StrCat("saved filter: kind ",
                                                 int{LoadField<uint8_t>(bytes, kKindAt)},
                                                 " is not known to this program"));
  }
  return saved;
}

absl::StatusOr<SavedFilter> ParseSavedFilter(std::string_view bytes, SavedFilterKind kind) {
  absl::StatusOr<SavedFilter> saved = ParseSavedFilter(bytes);
  if (saved.ok() && saved->header.kind != kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("saved filter: holds ", std::string(SavedFilterKindName(saved->header.kind)),
                     ", not ", std::string(SavedFilterKindName(kind))));
  }
  return saved;
}

absl::Status InconsistentFields(const SavedFilter& saved) {
  return Damaged(absl::StrCat(
      std::string(SavedFilterKindName(saved.header.kind)), " with parameter ",
      int{saved.header.parameter}, ", option ", int{saved.header.option}, ", ",
      saved.header.num_layers, " layers, ", saved.header.num_slots, " slots, capacity ",
      saved.header.capacity, ", rate ", saved.header.fpr, ", ", saved.header.num_keys, " keys and ",
      saved.payload.size(), " bytes: these do not go together"));
}

uint64_t PayloadWord(std::string_view payload, uint64_t i) {
  return LoadField<uint64_t>(payload, i * sizeof(uint64_t));
}

}  // namespace internal

std::string_view SavedFilterKindName(SavedFilterKind kind) {
  switch (kind) {
    case SavedFilterKind::kBloom:
      return "bloom";
    case SavedFilterKind::kBlockedBloom:
      return "blocked_bloom";
    case SavedFilterKind::kCountingBloom:
      return "counting_bloom";
    case SavedFilterKind::kScalableBloom:
      return "scalable_bloom";
    case SavedFilterKind::kCuckoo:
      return "cuckoo";
    case SavedFilterKind::kGuavaBloom:
      return "guava_bloom";
    case SavedFilterKind::kRedisBitmap:
      return "redis_bitmap";
    case SavedFilterKind::kRedisBloom:
      return "redisbloom";
    case SavedFilterKind::kRedisBloomCuckoo:
      return "redisbloom_cuckoo";
  }
  return "unknown";
}

bool LooksLikeSavedFilter(std::string_view bytes) {
  return bytes.substr(0, internal::kMagic.size()) == internal::kMagic;
}

absl::StatusOr<SavedFilterKind> KindOfSavedFilter(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved = internal::ParseSavedFilter(bytes);
  if (!saved.ok()) return saved.status();
  return saved->header.kind;
}

}  // namespace winnow::filter
