// What the steps of Version::MultiGet share.
#ifndef WINNOW_ENGINE_VERSION_BATCH_READ_H_
#define WINNOW_ENGINE_VERSION_BATCH_READ_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/version.h"

namespace winnow {

// One key of a batch and the file that it is looked for in.
struct Version::BatchRead {
  Candidate candidate;
  BatchLookup* lookup;
  PointLookup* steps;  // where the filter did not say no
  uint64_t block;      // equal in reads of one block
  bool is_missing;     // the block was not in memory

  const SstableReader& reader() const { return *candidate.file->reader(); }
  bool HasBlockOf(const BatchRead& other) const {
    return candidate.file == other.candidate.file && steps->has_block() &&
           other.steps->has_block() && steps->block_offset() == other.steps->block_offset();
  }
  // Reads of one block follow each other, and each is given its predecessor's: the block is then
  // looked up once. Null: that one is in another file.
  const PointLookup* StepsBeside(const BatchRead* before) const {
    return before != nullptr && before->candidate.file == candidate.file ? before->steps : nullptr;
  }
  // False ends the read.
  bool Check(absl::Status step) {
    if (step.ok()) [[likely]]
      return true;
    lookup->status = std::move(step);
    lookup->done = true;
    return false;
  }
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_BATCH_READ_H_
