#include "engine/version/version_edit.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/version/file_names.h"
#include "winnow/options.h"

namespace winnow {

namespace {

// On-disk tags: never renumber. A reader skips unknown tags from kFirstIgnorable on.
// Compatibility rules:
//
// 1. A tag's meaning never changes; a new meaning gets a new tag.
// 2. Tags below kFirstIgnorable must be understood: an older reader that skipped one would lose
//    files or data, so it refuses the manifest instead.
// 3. Tags from kFirstIgnorable on may be skipped by readers that do not know them.
// 4. A field may grow at its end: readers ignore what follows the part they know.
enum Tag : uint32_t {
  kHashSeed = 1,
  kNextFileNumber = 2,
  kLastSequence = 3,
  kLargestFamilyId = 4,
  kFamily = 5,  // what follows, up to the next kFamily, concerns this family
  kFamilyName = 6,
  kFamilyComparator = 7,
  kFamilyDropped = 8,
  kFamilyFilter = 9,
  kFamilyFilterKey = 10,
  kFamilyLogNumber = 11,
  kAddedFile = 12,
  kDeletedFile = 13,
  kOldestLog = 14,  // of the whole database
  kNewestLog = 15,  // when the database was closed
  kIngestedFile = 16,
  kFamilyMergeOperator = 17,
  kWriteTimes = 18,  // of the file that the last kAddedFile or kIngestedFile names
  kFamilyTtl = 19,
  kFilterFile = 20,   // of the file that the last kAddedFile or kIngestedFile names
  kEpochNumber = 21,  // of the file that the last kAddedFile or kIngestedFile names
  kLastKnown = kEpochNumber,
  kFirstIgnorable = 1000,
  kDatabaseOption = 1000,
  kFamilyOption = 1001,
  kKeyTimes = 1002,  // of the file that the last kAddedFile or kIngestedFile names
  kLastIgnorableKnown = kKeyTimes,
};

// Every field is: varint tag, varint length, that many bytes.
// Tag and length around every field, so that a reader can step over one that it does not know. An
// edit that adds one file to level 1 of family 0:
//
//   05 01 00          kFamily, 1 byte: family 0
//   0c 2b 01 0d ...   kAddedFile, 43 bytes: level 1, file 13, identity, sizes, counts, keys
void PutField(std::string* out, Tag tag, std::string_view bytes) {
  PutVarint32(out, tag);
  PutLengthPrefixed(out, bytes);
}

void PutNumber(std::string* out, Tag tag, uint64_t number) {
  std::string bytes;
  PutVarint64(&bytes, number);
  PutField(out, tag, bytes);
}

// level, number, identity, size, entries, deletions, smallest and largest sequence, smallest and
// largest key. Numbers that are usually small are varints, the identity, which is random, is fixed.
// An ingested file has its global sequence number in front, and another tag: a reader that passed
// over the number would show its entries as the oldest.
void PutAddedFile(std::string* out, const FamilyEdit::AddedFile& added) {
  const FileMetadata& file = added.file;
  std::string bytes;
  if (file.global_sequence != 0) PutVarint64(&bytes, file.global_sequence);
  PutVarint32(&bytes, static_cast<uint32_t>(added.level));
  PutVarint64(&bytes, file.number);
  PutFixed64(&bytes, file.file_id);
  PutVarint64(&bytes, file.file_bytes);
  PutVarint64(&bytes, file.num_entries);
  PutVarint64(&bytes, file.num_deletions);
  PutVarint64(&bytes, file.smallest_sequence);
  PutVarint64(&bytes, file.largest_sequence);
  PutLengthPrefixed(&bytes, file.smallest);
  PutLengthPrefixed(&bytes, file.largest);
  if (file.num_range_deletions != 0) PutVarint64(&bytes, file.num_range_deletions);
  PutField(out, file.global_sequence != 0 ? kIngestedFile : kAddedFile, bytes);
}

bool GetLevel(std::string_view* bytes, int* level) {
  uint32_t value;
  // Compared before the cast: a level is an index of arrays everywhere else.
  if (!GetVarint32(bytes, &value) || value >= static_cast<uint32_t>(kNumLevels)) return false;
  *level = static_cast<int>(value);
  return true;
}

bool GetFileNumber(std::string_view* bytes, uint64_t* number) {
  return GetVarint64(bytes, number) && *number < kFileNumberLimit;
}

// Everything that is later used without a check is checked here: levels index arrays, and keys are
// taken apart. That sizes and identities are right shows when the file is opened.
bool GetAddedFile(std::string_view bytes, FamilyEdit::AddedFile* added) {
  FileMetadata& file = added->file;
  std::string_view smallest;
  std::string_view largest;
  if (!GetLevel(&bytes, &added->level) || !GetFileNumber(&bytes, &file.number) ||
      !GetFixed64(&bytes, &file.file_id) || !GetVarint64(&bytes, &file.file_bytes) ||
      !GetVarint64(&bytes, &file.num_entries) || !GetVarint64(&bytes, &file.num_deletions) ||
      !GetVarint64(&bytes, &file.smallest_sequence) ||
      !GetVarint64(&bytes, &file.largest_sequence) || !GetLengthPrefixed(&bytes, &smallest) ||
      !GetLengthPrefixed(&bytes, &largest) || !IsInternalKey(smallest) || !IsInternalKey(largest)) {
    return false;
  }
  file.smallest = smallest;
  file.largest = largest;
  // Absent where it is 0. Whoever appends another field behind it has to write it always.
  if (!bytes.empty() && !GetVarint64(&bytes, &file.num_range_deletions)) return false;
  return true;  // bytes after the last known field belong to newer minor versions
}

bool GetIngestedFile(std::string_view bytes, FamilyEdit::AddedFile* added) {
  FileMetadata& file = added->file;
  return GetVarint64(&bytes, &file.global_sequence) && file.global_sequence != 0 &&
         file.global_sequence <= kMaxSequenceNumber && GetAddedFile(bytes, added);
}

// A field of its own, and one that must be understood: a reader that does not know it does not know
// the entries either.
void PutWriteTimes(std::string* out, const WriteTimes& times) {
  if (times.num_entries == 0) return;
  std::string bytes;
  PutVarint64(&bytes, times.num_entries);
  PutVarint64(&bytes, times.oldest);
  PutVarint64(&bytes, times.newest);
  PutField(out, kWriteTimes, bytes);
}

bool GetWriteTimes(std::string_view bytes, FamilyEdit* family) {
  // The field before it names the file, within the same family.
  if (family->added.empty()) return false;
  FileMetadata& file = family->added.back().file;
  WriteTimes& times = file.write_times;
  return GetVarint64(&bytes, &times.num_entries) && GetVarint64(&bytes, &times.oldest) &&
         GetVarint64(&bytes, &times.newest) && times.num_entries > 0 &&
         times.num_entries <= file.num_entries && times.oldest <= times.newest;
}

// May be ignored: a file of which no times are known is read where it need not be.
void PutKeyTimes(std::string* out, const std::optional<KeyTimes>& times) {
  if (!times.has_value()) return;
  std::string bytes;
  PutVarint64(&bytes, times->end);
  PutVarint64(&bytes, times->marker_end);
  PutVarint64(&bytes, times->far_marker_end);
  if (times->end != 0) PutVarint64(&bytes, times->oldest);
  PutField(out, kKeyTimes, bytes);
}

bool GetKeyTimes(std::string_view bytes, FamilyEdit* family) {
  if (family->added.empty()) return false;
  KeyTimes& times = family->added.back().file.key_times.emplace();
  return GetVarint64(&bytes, &times.end) && GetVarint64(&bytes, &times.marker_end) &&
         GetVarint64(&bytes, &times.far_marker_end) &&
         (times.end == 0 || GetVarint64(&bytes, &times.oldest)) && times.IsPossible();
}

// Must be understood too: a reader that passed over it would take the file for an orphan.
void PutFilterFile(std::string* out, const FilterFileMetadata& file) {
  if (file.number == 0) return;
  std::string bytes;
  PutVarint64(&bytes, file.number);
  PutFixed64(&bytes, file.file_id);
  PutVarint64(&bytes, file.file_bytes);
  PutField(out, kFilterFile, bytes);
}

bool GetFilterFile(std::string_view bytes, FamilyEdit* family) {
  if (family->added.empty()) return false;
  FilterFileMetadata& file = family->added.back().file.filter_file;
  return GetFileNumber(&bytes, &file.number) && file.number != 0 &&
         GetFixed64(&bytes, &file.file_id) && GetVarint64(&bytes, &file.file_bytes);
}

// Must be understood: without it level 0 has no order.
void PutEpochNumber(std::string* out, const FamilyEdit::AddedFile& added) {
  const uint64_t number = added.file.epoch_number;
  if (added.level == 0 && number != 0) PutNumber(out, kEpochNumber, number);
}

bool GetEpochNumber(std::string_view bytes, FamilyEdit* family) {
  if (family->added.empty() || family->added.back().level != 0) return false;
  uint64_t& number = family->added.back().file.epoch_number;
  return GetVarint64(&bytes, &number) && number != 0 && number < kEpochNumberLimit;
}

// NAME=TEXT. A reader that does not know the field opens the database all the same: whoever opens
// it brings options of his own.
void PutOptions(std::string* out, Tag tag, const OptionTexts& options) {
  for (const auto& [name, text] : options) PutField(out, tag, absl::StrCat(name, "=", text));
}

bool GetOption(std::string_view bytes, OptionTexts* options) {
  // The first one parts name and text: names have none, texts may.
  const size_t equals = bytes.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  (*options)[std::string(bytes.substr(0, equals))] = std::string(bytes.substr(equals + 1));
  return true;
}

bool GetNumber(std::string_view bytes, uint64_t* number) { return GetVarint64(&bytes, number); }

// Decodes a field that belongs to the edit as a whole; false if malformed.
// Limits are those below which the numbers can still be counted up without wrapping around.
bool DecodeDatabaseField(uint32_t tag, std::string_view bytes, VersionEdit* edit) {
  uint64_t number;
  if (tag == kDatabaseOption) return GetOption(bytes, &edit->options);
  if (tag == kHashSeed) {
    if (!GetFixed64(&bytes, &number)) return false;
    edit->hash_seed = number;
    return true;
  }
  if (!GetNumber(bytes, &number)) return false;
  if (tag == kNextFileNumber) {
    if (number >= kFileNumberLimit) return false;
    edit->next_file_number = number;
  } else if (tag == kLastSequence) {
    if (number > kMaxSequenceNumber) return false;
    edit->last_sequence = number;
  } else if (tag == kLargestFamilyId) {
    if (number >= kFamilyIdLimit) return false;
    edit->largest_family_id = static_cast<uint32_t>(number);
  } else if (tag == kOldestLog) {
    if (number >= kFileNumberLimit) return false;
    edit->oldest_log = number;
  } else if (tag == kNewestLog) {
    if (number >= kFileNumberLimit) return false;
    edit->newest_log = number;
  } else {
    if (number >= kFamilyIdLimit) return false;
    // kFamily. A family that comes twice has two entries, which are applied one after the other.
    edit->families.emplace_back().family_id = static_cast<uint32_t>(number);
  }
  return true;
}

// Fields concern the family that the last kFamily named. A field that may come once keeps its last
// value; files are lists.
bool DecodeFamilyField(uint32_t tag, std::string_view bytes, FamilyEdit* family) {
  uint64_t number;
  switch (tag) {
    case kFamilyName:
      family->name = std::string(bytes);
      return true;
    case kFamilyComparator:
      family->comparator = std::string(bytes);
      return true;
    case kFamilyMergeOperator:
      family->merge_operator = std::string(bytes);
      return true;
    case kFamilyDropped:
      family->dropped = true;
      return true;
    case kFamilyFilter:
      family->filter = std::string(bytes);
      return true;
    case kFamilyFilterKey:
      family->filter_key = std::string(bytes);
      return true;
    case kFamilyLogNumber:
      if (!GetFileNumber(&bytes, &number)) return false;
      family->log_number = number;
      return true;
    case kAddedFile:
      // Into the list before it is known to be sound: the whole edit is refused if it is not.
      return GetAddedFile(bytes, &family->added.emplace_back());
    case kIngestedFile:
      return GetIngestedFile(bytes, &family->added.emplace_back());
    case kWriteTimes:
      return GetWriteTimes(bytes, family);
    case kFilterFile:
      return GetFilterFile(bytes, family);
    case kEpochNumber:
      return GetEpochNumber(bytes, family);
    case kFamilyTtl:
      if (!GetNumber(bytes, &number) || number > kMaxTtlSeconds) return false;
      family->ttl_seconds = number;
      return true;
    case kFamilyOption:
      return GetOption(bytes, &family->options);
    case kKeyTimes:
      return GetKeyTimes(bytes, family);
    default: {  // kDeletedFile
      FamilyEdit::DeletedFile& file = family->deleted.emplace_back();
      return GetLevel(&bytes, &file.level) && GetFileNumber(&bytes, &file.number);
    }
  }
}

}  // namespace

void VersionEdit::EncodeTo(std::string* out) const {
  // Fields that are not set are not written: an edit of a flush has three or four of them.
  if (hash_seed) {
    std::string bytes;
    PutFixed64(&bytes, *hash_seed);
    PutField(out, kHashSeed, bytes);
  }
  if (next_file_number) PutNumber(out, kNextFileNumber, *next_file_number);
  if (last_sequence) PutNumber(out, kLastSequence, *last_sequence);
  if (largest_family_id) PutNumber(out, kLargestFamilyId, *largest_family_id);
  if (oldest_log) PutNumber(out, kOldestLog, *oldest_log);
  if (newest_log) PutNumber(out, kNewestLog, *newest_log);
  PutOptions(out, kDatabaseOption, options);
  for (const FamilyEdit& family : families) {
    // First of its fields: what follows speaks of this family.
    PutNumber(out, kFamily, family.family_id);
    if (family.name) PutField(out, kFamilyName, *family.name);
    if (family.comparator) PutField(out, kFamilyComparator, *family.comparator);
    if (family.merge_operator) PutField(out, kFamilyMergeOperator, *family.merge_operator);
    if (family.dropped) PutField(out, kFamilyDropped, "");
    if (family.filter) PutField(out, kFamilyFilter, *family.filter);
    if (family.filter_key) PutField(out, kFamilyFilterKey, *family.filter_key);
    if (family.ttl_seconds) PutNumber(out, kFamilyTtl, *family.ttl_seconds);
    PutOptions(out, kFamilyOption, family.options);
    if (family.log_number) PutNumber(out, kFamilyLogNumber, *family.log_number);
    // Deletions before additions: a trivial move deletes and adds the same number in one edit.
    for (const FamilyEdit::DeletedFile& file : family.deleted) {
      std::string bytes;
      PutVarint32(&bytes, static_cast<uint32_t>(file.level));
      PutVarint64(&bytes, file.number);
      PutField(out, kDeletedFile, bytes);
    }
    // What belongs to a file by its place right behind the file's own field.
    for (const FamilyEdit::AddedFile& file : family.added) {
      PutAddedFile(out, file);
      PutEpochNumber(out, file);
      PutWriteTimes(out, file.file.write_times);
      PutKeyTimes(out, file.file.key_times);
      PutFilterFile(out, file.file.filter_file);
    }
  }
}

// The record's checksum was right, so malformed bytes are not the disk's doing but those of a
// writer with a bug, or of an adversary: nothing is allocated by a length that has not been
// compared with the bytes there are.
absl::StatusOr<VersionEdit> VersionEdit::Decode(std::string_view bytes) {
  VersionEdit edit;
  while (!bytes.empty()) {
    uint32_t tag;
    std::string_view field;
    if (!GetVarint32(&bytes, &tag) || !GetLengthPrefixed(&bytes, &field)) {
      return absl::InvalidArgumentError("version edit ends in the middle of a field");
    }
    // May be ignored by those who do not know them, and are read by those who do.
    const bool is_known_ignorable = tag >= kFirstIgnorable && tag <= kLastIgnorableKnown;
    if (tag >= kFirstIgnorable && !is_known_ignorable) continue;
    if (tag == 0 || (tag > kLastKnown && !is_known_ignorable)) {
      return absl::FailedPreconditionError(
          absl::StrCat("version edit has field ", tag, ", which a newer version of Winnow wrote"));
    }
    bool decoded;
    if (tag <= kFamily || tag == kOldestLog || tag == kNewestLog || tag == kDatabaseOption) {
      decoded = DecodeDatabaseField(tag, field, &edit);
    } else if (edit.families.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("version edit field ", tag, " stands before any column family"));
    } else {
      // What is left are the fields that FORMAT.md lists for a family.
      decoded = DecodeFamilyField(tag, field, &edit.families.back());
    }
    if (!decoded) {
      return absl::InvalidArgumentError(absl::StrCat("version edit field ", tag, " is malformed"));
    }
  }
  return edit;
}

// Keys as people write them, with their sequence numbers.
std::string FileMetadata::DebugString() const {
  const auto key = [](const std::string& internal_key) {
    return absl::StrCat("'", absl::CHexEscape(ToAbsl(UserKey(internal_key))), "'@",
                        Sequence(internal_key));
  };
  return absl::StrCat(
      SixDigits(number), " id=", AllHexDigits(file_id), " bytes=", file_bytes,
      " entries=", num_entries, " deletions=", num_deletions,
      num_range_deletions == 0 ? "" : absl::StrCat(" range_deletions=", num_range_deletions), " ",
      key(smallest), " .. ", IsExclusiveEnd(largest) ? "before " : "", key(largest),
      global_sequence == 0 ? "" : absl::StrCat(" ingested@", global_sequence),
      epoch_number == 0 ? "" : absl::StrCat(" epoch=", epoch_number),
      write_times.num_entries == 0 ? ""
                                   : absl::StrCat(" times=", write_times.num_entries, " ",
                                                  write_times.oldest, "..", write_times.newest),
      key_times.has_value() ? absl::StrCat(" key_times: ", key_times->DebugString()) : "",
      filter_file.number == 0 ? ""
                              : absl::StrCat(" filter_file=", SixDigits(filter_file.number),
                                             " id=", AllHexDigits(filter_file.file_id),
                                             " bytes=", filter_file.file_bytes));
}

std::string VersionEdit::DebugString() const {
  std::string out;
  if (hash_seed) absl::StrAppend(&out, "hash_seed: ", AllHexDigits(*hash_seed), "\n");
  if (next_file_number) absl::StrAppend(&out, "next_file_number: ", *next_file_number, "\n");
  if (last_sequence) absl::StrAppend(&out, "last_sequence: ", *last_sequence, "\n");
  if (largest_family_id) absl::StrAppend(&out, "largest_family_id: ", *largest_family_id, "\n");
  if (oldest_log) absl::StrAppend(&out, "oldest_log: ", *oldest_log, "\n");
  if (newest_log) absl::StrAppend(&out, "newest_log: ", *newest_log, "\n");
  for (const auto& [name, text] : options) {
    absl::StrAppend(&out, "option: ", absl::CHexEscape(absl::StrCat(name, "=", text)), "\n");
  }
  for (const FamilyEdit& family : families) {
    absl::StrAppend(&out, "family: ", family.family_id, "\n");
    if (family.name) absl::StrAppend(&out, "  name: ", absl::CHexEscape(*family.name), "\n");
    if (family.comparator) absl::StrAppend(&out, "  comparator: ", *family.comparator, "\n");
    if (family.merge_operator) {
      absl::StrAppend(&out, "  merge_operator: ", absl::CHexEscape(*family.merge_operator), "\n");
    }
    if (family.dropped) absl::StrAppend(&out, "  dropped\n");
    if (family.filter) absl::StrAppend(&out, "  filter: ", *family.filter, "\n");
    if (family.filter_key) absl::StrAppend(&out, "  filter_key: ", *family.filter_key, "\n");
    if (family.ttl_seconds) absl::StrAppend(&out, "  ttl_seconds: ", *family.ttl_seconds, "\n");
    for (const auto& [name, text] : family.options) {
      absl::StrAppend(&out, "  option: ", absl::CHexEscape(absl::StrCat(name, "=", text)), "\n");
    }
    if (family.log_number) absl::StrAppend(&out, "  log_number: ", *family.log_number, "\n");
    for (const FamilyEdit::DeletedFile& file : family.deleted) {
      absl::StrAppend(&out, "  delete: level ", file.level, " ", SixDigits(file.number), "\n");
    }
    for (const FamilyEdit::AddedFile& file : family.added) {
      absl::StrAppend(&out, "  add: level ", file.level, " ", file.file.DebugString(), "\n");
    }
  }
  return out;
}

}  // namespace winnow
