#include "engine/compaction/small_files.h"

#include <algorithm>

namespace winnow {

namespace {

// What one compaction takes along, so that a pile is merged in pieces.
constexpr size_t kMostJoined = 256;
// A neighbour may be so many times as large as what it joins. The more, the fewer files stay (the
// logarithm to a base of one more) and the more often each entry is rewritten (a third more than if
// it were 1).
constexpr uint64_t kMostTimes = 3;

UserKeyRange RangeOfInputs(const Compaction& compaction) {
  Version::Files all;
  for (const Version::Files& files : compaction.inputs) {
    all.insert(all.end(), files.begin(), files.end());
  }
  return RangeOf(all, compaction.version->comparator());
}

}  // namespace

void JoinSmallNeighbours(const ColumnFamilyOptions& options, Compaction* compaction) {
  const InternalKeyComparator& comparator = compaction->version->comparator();
  const Version::Files& files = compaction->version->files(compaction->output_level);
  const UserKeyRange range = RangeOfInputs(*compaction);
  // Those that overlap the range, [begin, end), are inputs already.
  auto begin = std::partition_point(files.begin(), files.end(), [&](const auto& file) {
    return file->EndsBefore(range.smallest, comparator);
  });
  auto end = std::partition_point(begin, files.end(), [&](const auto& file) {
    return !EndsBefore(range, file->smallest_user_key(), comparator);
  });
  uint64_t bytes = compaction->input_bytes();
  // Enough for one full file more: what is left of a pile is for later compactions.
  uint64_t bytes_left = options.target_file_bytes;
  size_t files_left = kMostJoined;
  const auto joins = [&](const SstableFile& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    const uint64_t file_bytes = file.metadata().file_bytes;
    // A file that cannot be opened would make the whole compaction fail, for which it is not
    // needed.
    if (!IsIdle(file) || file.reader() == nullptr || !IsSmall(file, options)) return false;
    if (files_left == 0 || file_bytes > bytes_left || file_bytes / kMostTimes > bytes) return false;
    bytes += file_bytes;
    bytes_left -= file_bytes;
    files_left--;
    return true;
  };
  // On each side up to the first that does not join: to pass over one would leave a file in the
  // middle of the output's range. Both sides by turns, since each file that joins makes larger ones
  // worth joining.
  for (bool joined = true; joined;) {
    joined = false;
    if (begin != files.begin() && joins(**std::prev(begin))) {
      --begin;
      joined = true;
    }
    if (end != files.end() && joins(**end)) {
      ++end;
      joined = true;
    }
  }
  compaction->inputs[static_cast<size_t>(compaction->output_level)].assign(begin, end);
}

}  // namespace winnow
