#include "engine/compaction/compaction_parts.h"

#include <algorithm>
#include <utility>

#include "engine/sstable/sstable_reader.h"

namespace winnow {

namespace {

// Of all input files together: more would make the parts no more even.
constexpr size_t kMostAnchors = 4096;
// RocksDB asks each table for as many.
constexpr size_t kMostAnchorsOfAFile = 128;

// Of the files of level 0 each may span the whole range, so that where files begin says little:
// anchors within them tell where the bytes are. A file that cannot be opened, or whose index cannot
// be read now, counts at its end.
std::vector<SstableAnchor> AnchorsOf(const Compaction& compaction) {
  const size_t each =
      std::clamp<size_t>(kMostAnchors / compaction.num_input_files(), 1, kMostAnchorsOfAFile);
  std::vector<SstableAnchor> anchors;
  for (const Version::Files& files : compaction.inputs) {
    for (const auto& file : files) {
      std::vector<SstableAnchor> found;
      if (file->reader() != nullptr) found = file->reader()->Anchors(each);
      if (found.empty()) {
        found.push_back({std::string(file->largest_user_key()), file->metadata().file_bytes});
      }
      std::move(found.begin(), found.end(), std::back_inserter(anchors));
    }
  }
  const InternalKeyComparator& comparator = compaction.version->comparator();
  std::sort(anchors.begin(), anchors.end(), [&](const SstableAnchor& a, const SstableAnchor& b) {
    return comparator.CompareUserKeys(a.user_key, b.user_key) < 0;
  });
  return anchors;
}

}  // namespace

std::vector<CompactionPart> SplitIntoParts(const Compaction& compaction, int most,
                                           uint64_t least_bytes,
                                           const EntryCollectorFactory* collectors) {
  std::vector<CompactionPart> parts(1);
  // By rounding down no part is smaller than `least_bytes` on average.
  const uint64_t wanted =
      std::min<uint64_t>(static_cast<uint64_t>(std::max(most, 1)),
                         compaction.input_bytes() / std::max<uint64_t>(least_bytes, 1));
  if (wanted < 2) return parts;
  std::vector<SstableAnchor> anchors = AnchorsOf(compaction);
  uint64_t total = 0;
  for (const SstableAnchor& anchor : anchors) total += anchor.bytes;
  const InternalKeyComparator& comparator = compaction.version->comparator();
  uint64_t bytes = 0;  // that lie before the anchor's key, or at it
  for (SstableAnchor& anchor : anchors) {
    bytes += anchor.bytes;
    // What follows the last anchor is nothing, and would be an empty part.
    if (parts.size() == wanted || bytes == total) break;
    // Part i ends with the first anchor up to which i / wanted of all bytes lie.
    if (bytes < total * parts.size() / wanted) continue;
    std::string boundary = collectors == nullptr
                               ? std::move(anchor.user_key)
                               : std::string(collectors->WalkBoundary(anchor.user_key));
    // Two boundaries at one key would have an empty part between them.
    const std::optional<std::string>& begin = parts.back().begin;
    if (begin.has_value() && comparator.CompareUserKeys(boundary, *begin) <= 0) continue;
    parts.back().end = boundary;
    parts.emplace_back().begin = std::move(boundary);
  }
  return parts;
}

}  // namespace winnow
