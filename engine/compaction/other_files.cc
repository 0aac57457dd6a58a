#include "engine/compaction/other_files.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace winnow {

namespace {

bool HasMarkers(const FileMetadata& file) {
  // Unset: nothing is known of it.
  return !file.key_times.has_value() || file.key_times->has_markers();
}

std::vector<const SstableFile*> SortedInputs(const Compaction& compaction) {
  std::vector<const SstableFile*> inputs;
  for (const Version::Files& files : compaction.inputs) {
    for (const auto& file : files) inputs.push_back(file.get());
  }
  std::sort(inputs.begin(), inputs.end(), std::less<>());
  return inputs;
}

Removers RemoversOf(const FileMetadata& file, bool is_deeper, bool every_entry_removes) {
  Removers removers;
  if (is_deeper) {
    removers.any = every_entry_removes || HasMarkers(file);
    if (removers.any) removers.floor = file.largest_sequence;
    return removers;
  }
  removers.any = every_entry_removes || file.num_deletions > 0 || file.num_range_deletions > 0 ||
                 HasMarkers(file);
  // Numbers that have become 0 make it 0: then nothing is known of what else the file has.
  if (removers.any) {
    removers.horizon = file.smallest_sequence == 0 ? 0 : file.smallest_sequence - 1;
  }
  return removers;
}

}  // namespace

// Which file of level 0 is older than the inputs of a compaction is not looked at.
OtherFilesOfVersion::OtherFilesOfVersion(const Compaction& compaction, bool every_entry_removes)
    : OtherFilesOfVersion(*compaction.version, SortedInputs(compaction),
                          std::max(compaction.output_level + 1, 1), every_entry_removes) {}

OtherFilesOfVersion::OtherFilesOfVersion(const Version& version, bool every_entry_removes)
    : OtherFilesOfVersion(version, {}, /*first_deeper_level=*/0, every_entry_removes) {}

OtherFilesOfVersion::OtherFilesOfVersion(const Version& version,
                                         const std::vector<const SstableFile*>& inputs,
                                         int first_deeper_level, bool every_entry_removes)
    : comparator_(version.comparator()) {
  for (int level = 0; level < kNumLevels; level++) {
    const bool is_deeper = level >= first_deeper_level;
    Run all;
    Run removing;
    for (const auto& file : version.files(level)) {
      if (RemoversOf(file->metadata(), /*is_deeper=*/false, every_entry_removes).any) {
        has_no_removers_ = false;
      }
      if (std::binary_search(inputs.begin(), inputs.end(), file.get(), std::less<>())) continue;
      const File other = {file.get(), RemoversOf(file->metadata(), is_deeper, every_entry_removes)};
      all.push_back(other);
      if (other.removers.any) removing.push_back(other);
      if (level > 0) continue;
      all_.push_back(std::exchange(all, {}));
      if (!removing.empty()) removing_.push_back(std::exchange(removing, {}));
    }
    if (!all.empty()) all_.push_back(std::move(all));
    if (!removing.empty()) removing_.push_back(std::move(removing));
  }
}

template <typename Visit>
void OtherFilesOfVersion::VisitOverlapping(const std::vector<Run>& runs, std::string_view begin,
                                           std::string_view end, const Visit& visit) const {
  for (const Run& run : runs) {
    auto file = std::partition_point(run.begin(), run.end(), [&](const File& candidate) {
      return candidate.file->EndsBefore(begin, comparator_);
    });
    for (;
         file != run.end() && comparator_.CompareUserKeys(file->file->smallest_user_key(), end) < 0;
         ++file) {
      visit(*file);
    }
  }
}

Removers OtherFilesOfVersion::RemoversIn(std::string_view begin, std::string_view end) const {
  Removers removers;
  VisitOverlapping(removing_, begin, end, [&](const File& file) { removers.Add(file.removers); });
  return removers;
}

SequenceNumber OtherFilesOfVersion::OldestIn(std::string_view begin, std::string_view end) const {
  SequenceNumber oldest = kMaxSequenceNumber;
  VisitOverlapping(all_, begin, end, [&](const File& file) {
    oldest = std::min(oldest, file.file->metadata().smallest_sequence);
  });
  return oldest;
}

}  // namespace winnow
