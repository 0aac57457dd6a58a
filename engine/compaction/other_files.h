// What of the files that a flush or a compaction does not read bears upon the keys that it does.
#ifndef WINNOW_ENGINE_COMPACTION_OTHER_FILES_H_
#define WINNOW_ENGINE_COMPACTION_OTHER_FILES_H_

#include <string_view>
#include <vector>

#include "engine/base/entry_collector.h"
#include "engine/compaction/compaction.h"

namespace winnow {

// By what the manifest knows, in the version in which the inputs were picked, which outlives this.
// Whatever has been flushed or ingested since then is newer than that; what other compactions do
// meanwhile moves entries about, and adds none.
class OtherFilesOfVersion final : public OtherFiles {
 public:
  OtherFilesOfVersion(const Compaction& compaction, bool every_entry_removes);
  // For a flush, which reads none.
  OtherFilesOfVersion(const Version& version, bool every_entry_removes);

  Removers RemoversIn(std::string_view begin, std::string_view end) const override;
  SequenceNumber OldestIn(std::string_view begin, std::string_view end) const override;
  bool may_have_removers() const override { return !removing_.empty(); }
  bool has_no_removers() const override { return has_no_removers_; }

 private:
  struct File {
    const SstableFile* file;
    Removers removers;
  };
  using Run = std::vector<File>;  // sorted, and not overlapping

  // Files from `first_deeper_level` on lie deeper than what is written.
  OtherFilesOfVersion(const Version& version, const std::vector<const SstableFile*>& inputs,
                      int first_deeper_level, bool every_entry_removes);

  template <typename Visit>
  void VisitOverlapping(const std::vector<Run>& runs, std::string_view begin, std::string_view end,
                        const Visit& visit) const;

  const InternalKeyComparator comparator_;
  // Each file of level 0 is a run.
  std::vector<Run> all_;
  std::vector<Run> removing_;
  bool has_no_removers_ = true;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_OTHER_FILES_H_
