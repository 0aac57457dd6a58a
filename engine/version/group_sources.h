// The sources of a search for groups: entries, an SSTable, a level of SSTables.
#ifndef WINNOW_ENGINE_VERSION_GROUP_SOURCES_H_
#define WINNOW_ENGINE_VERSION_GROUP_SOURCES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/internal_iterator.h"
#include "engine/sstable/signature_cursor.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/group_search.h"
#include "engine/version/sstable_file.h"

namespace winnow {

// What the entries themselves say: a group has the values that some version in it has. An entry
// that the parser does not know is damage.
class EntryGroups final : public GroupSource {
 public:
  EntryGroups(std::shared_ptr<const GroupQuestion> question,
              std::unique_ptr<InternalIterator> entries)
      : question_(std::move(question)), entries_(std::move(entries)) {}

  void SeekToFirst() override;
  // To the first group behind this one.
  void SeekBehind(std::string_view group);
  bool Valid() const override { return values_ != 0; }
  void Next() override { FindGroup(); }
  std::string_view group() const override { return group_; }
  uint64_t values() const override { return values_; }
  absl::Status status() const override { return status_.ok() ? entries_->status() : status_; }

 private:
  // From the present entry on, to a group with some of the values.
  void FindGroup();

  const std::shared_ptr<const GroupQuestion> question_;
  const std::unique_ptr<InternalIterator> entries_;
  std::string group_;
  uint64_t values_ = 0;  // 0: not valid
  absl::Status status_;
};

// What the signatures of an SSTable say, if they are of all the fields that are asked for. If not,
// and from where they turn out to be damaged, its entries.
class FileGroups final : public GroupSource {
 public:
  FileGroups(std::shared_ptr<const GroupQuestion> question, const SstableFile& file,
             const SstableReadOptions& options, GroupSearch::Findings* findings);

  void SeekToFirst() override;
  bool Valid() const override { return entries_ != nullptr ? entries_->Valid() : values_ != 0; }
  void Next() override;
  std::string_view group() const override {
    return entries_ != nullptr ? entries_->group() : signatures_.group();
  }
  uint64_t values() const override { return entries_ != nullptr ? entries_->values() : values_; }
  absl::Status status() const override;

 private:
  // False: they lack a field that is asked for, or cannot be read.
  bool OpenSignatures();
  // From the present signature on, to one that has some of the values.
  void FindGroup();
  void Refuse(const absl::Status& why);
  EntryGroups& UseEntries();

  const std::shared_ptr<const GroupQuestion> question_;
  const SstableFile& file_;
  const SstableReadOptions options_;
  GroupSearch::Findings& findings_;
  SignatureCursor signatures_;
  std::vector<Signature> wanted_;  // of each value
  std::string last_group_;         // that was given, or passed over
  bool has_last_group_ = false;
  uint64_t values_ = 0;
  std::unique_ptr<EntryGroups> entries_;  // null: signatures_ are read
};

// SSTables whose keys do not overlap, in order: one is read at a time. A group may go on from one
// to the next, and then comes twice.
class LevelGroups final : public GroupSource {
 public:
  LevelGroups(std::shared_ptr<const GroupQuestion> question, Version::Files files,
              const SstableReadOptions& options, GroupSearch::Findings* findings)
      : question_(std::move(question)),
        files_(std::move(files)),
        options_(options),
        findings_(findings) {}

  void SeekToFirst() override { Open(0); }
  bool Valid() const override { return status_.ok() && file_ != nullptr && file_->Valid(); }
  void Next() override;
  std::string_view group() const override { return file_->group(); }
  uint64_t values() const override { return file_->values(); }
  absl::Status status() const override;

 private:
  // To the first group of this file or of one behind it.
  void Open(size_t index);

  const std::shared_ptr<const GroupQuestion> question_;
  const Version::Files files_;
  const SstableReadOptions options_;
  GroupSearch::Findings* const findings_;
  size_t index_ = 0;
  std::unique_ptr<FileGroups> file_;  // null: behind the last
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_GROUP_SOURCES_H_
