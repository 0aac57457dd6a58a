#include "engine/version/group_sources.h"

#include <algorithm>
#include <utility>

#include "engine/base/internal_key.h"
#include "engine/base/status.h"
#include "engine/base/write_time.h"
#include "engine/sstable/sstable_iterator.h"

namespace winnow {

void EntryGroups::SeekToFirst() {
  entries_->Seek(MakeInternalKey(question_->lower, kMaxSequenceNumber, kEntryTypeForSeek));
  FindGroup();
}

// The group's own text stands before its keys.
void EntryGroups::SeekBehind(std::string_view group) {
  entries_->Seek(MakeInternalKey(group, kMaxSequenceNumber, kEntryTypeForSeek));
  FindGroup();
  while (Valid() && group_ <= group) FindGroup();
}

// One group is read to its end, since any of its entries may have a value. Deletions have none;
// versions that they hide count all the same, which costs a look at a group too many.
void EntryGroups::FindGroup() {
  values_ = 0;
  bool has_group = false;
  for (; entries_->Valid(); entries_->Next()) {
    const std::string_view internal_key = entries_->key();
    if (Type(internal_key) == EntryType::kDelete) continue;
    std::string_view value = entries_->value();
    if (Type(internal_key) == EntryType::kPutWithTime) value = WithoutWriteTime(value);
    SignedEntry entry;
    if (!IsPut(Type(internal_key)) || !question_->parser(UserKey(internal_key), value, &entry)) {
      values_ = 0;
      status_ = absl::DataLossError("an entry that is none of its column family's owner");
      return;
    }
    if (!has_group || entry.group != group_) {
      // With nothing of the question in it a group is passed over.
      if (values_ != 0) return;
      if (!question_->end_group.empty() && entry.group >= question_->end_group) return;
      group_.assign(entry.group);
      has_group = true;
    }
    if (!entry.has_value) continue;
    for (size_t i = 0; i < question_->values.size(); i++) {
      const SignedValue& wanted = question_->values[i];
      if (entry.field == wanted.field && entry.value == wanted.value) values_ |= uint64_t{1} << i;
    }
  }
  // Of a group whose end was not read nobody knows what it has.
  if (!entries_->status().ok()) values_ = 0;
}

FileGroups::FileGroups(std::shared_ptr<const GroupQuestion> question, const SstableFile& file,
                       const SstableReadOptions& options, GroupSearch::Findings* findings)
    : question_(std::move(question)),
      file_(file),
      options_(options),
      findings_(*findings),
      signatures_(*file.reader(), options) {}

void FileGroups::SeekToFirst() {
  if (!OpenSignatures()) return UseEntries().SeekToFirst();
  signatures_.Seek(question_->first_group);
  FindGroup();
}

// A file that was written under another list of fields says nothing of those that it lacks, and a
// group without any of its own has no signature there.
bool FileGroups::OpenSignatures() {
  if (!file_.reader()->has_signatures()) return false;
  if (const absl::Status opened = signatures_.Open(); !opened.ok()) {
    findings_.on_refused(opened);
    return false;
  }
  const SignatureIndex& index = signatures_.index();
  for (const SignedValue& value : question_->values) {
    if (!index.HasField(value.field)) return false;
    wanted_.emplace_back(value.field, value.value, index.seed);
  }
  return true;
}

void FileGroups::FindGroup() {
  values_ = 0;
  for (; signatures_.Valid(); signatures_.Next()) {
    const std::string_view group = signatures_.group();
    if (!question_->end_group.empty() && group >= question_->end_group) return;
    findings_.signatures_asked++;
    for (size_t i = 0; i < wanted_.size(); i++) {
      if (signatures_.signature().MayContain(wanted_[i])) values_ |= uint64_t{1} << i;
    }
    if (values_ != 0) return;
    last_group_.assign(group);
    has_last_group_ = true;
  }
  if (!signatures_.status().ok()) Refuse(signatures_.status());
}

void FileGroups::Next() {
  if (entries_ != nullptr) return entries_->Next();
  last_group_.assign(signatures_.group());
  has_last_group_ = true;
  signatures_.Next();
  FindGroup();
}

// Whatever keeps signatures from being read, what they are of may be sound. What has been said of
// groups before that holds.
void FileGroups::Refuse(const absl::Status& why) {
  findings_.on_refused(why);
  EntryGroups& entries = UseEntries();
  has_last_group_ ? entries.SeekBehind(last_group_) : entries.SeekToFirst();
}

EntryGroups& FileGroups::UseEntries() {
  entries_ = std::make_unique<EntryGroups>(question_, file_.reader()->NewIterator(options_));
  return *entries_;
}

absl::Status FileGroups::status() const {
  return entries_ != nullptr ? entries_->status() : absl::OkStatus();
}

void LevelGroups::Open(size_t index) {
  for (index_ = index; index_ < files_.size(); index_++) {
    const SstableFile& file = *files_[index_];
    if (file.reader() == nullptr) {
      status_ = file.open_status();
      return;
    }
    file_ = std::make_unique<FileGroups>(question_, file, options_, findings_);
    file_->SeekToFirst();
    if (file_->Valid() || !file_->status().ok()) return;
  }
  file_ = nullptr;
}

void LevelGroups::Next() {
  file_->Next();
  if (!file_->Valid() && file_->status().ok()) Open(index_ + 1);
}

absl::Status LevelGroups::status() const {
  return !status_.ok() || file_ == nullptr ? status_ : file_->status();
}

}  // namespace winnow
