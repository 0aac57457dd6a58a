// The blocks of a batch that are not in memory.
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "engine/file_system/read_ring.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/batch_read.h"
#include "engine/version/version.h"

namespace winnow {

// Where the kernel has io_uring, one call reads all of them side by side: half the price of as many
// calls where the system has the blocks in memory, and the disk's waits overlap where it has not.
// Without, where one block had to come from the disk the others probably must too: the system is
// asked for all of them, and reads them while this thread waits for the next.
//
// Whatever a ring did not read is read again by itself, for the error that it has.
void Version::LoadMissing(std::span<BatchRead* const> reads, const LookupContext& context) {
  std::array<BlockFetch, kKeysAtOnce> fetches;
  std::array<RingRead, kKeysAtOnce> ring_reads;
  std::array<BlockFetch*, kKeysAtOnce> fetch_of{};  // by the place in `reads`
  std::array<std::shared_ptr<const void>, kKeysAtOnce> holders;
  static_assert(kKeysAtOnce <= ReadRings::kMostReads);
  // Reads of one block follow each other.
  const auto begins_missing_block = [&](size_t i) {
    return reads[i]->is_missing && (i == 0 || !reads[i]->HasBlockOf(*reads[i - 1]));
  };
  size_t num_missing = 0;
  for (size_t i = 0; i < reads.size(); i++) num_missing += begins_missing_block(i) ? 1 : 0;
  size_t num_fetches = 0;
  // For a single one there is nothing to be had.
  if (num_missing > 1 && context.read_rings != nullptr && !context.read_rings->is_refused()) {
    const SstableFile* file = nullptr;
    int descriptor = -1;
    for (size_t i = 0; i < reads.size(); i++) {
      if (!begins_missing_block(i)) continue;
      const BatchRead& read = *reads[i];
      if (read.candidate.file != file) {
        file = read.candidate.file;
        descriptor = read.reader().Descriptor(&holders[i]);
      }
      if (read.reader().StartFetch(context.read_options, *read.steps, descriptor,
                                   &fetches[num_fetches], &ring_reads[num_fetches])) {
        fetch_of[i] = &fetches[num_fetches++];
      }
    }
  }
  const bool were_read =
      num_fetches > 1 && context.read_rings->Read(std::span(ring_reads).first(num_fetches));
  uint64_t whole = 0;
  for (size_t i = 0; i < num_fetches; i++) {
    if (were_read && ring_reads[i].is_whole) {
      whole++;
    } else {
      fetches[i].stored.Release();
    }
  }
  if (context.read_options.counters != nullptr) {
    context.read_options.counters->blocks_read_together.Add(whole);
  }
  const BatchRead* before = nullptr;
  bool asked_for_all = were_read;
  for (size_t i = 0; i < reads.size(); i++) {
    BatchRead& read = *reads[i];
    const PointLookup* const neighbour = read.StepsBeside(std::exchange(before, &read));
    if (!read.is_missing || SstableReader::TakeFrom(neighbour, read.steps)) continue;
    bool waited = false;
    read.Check(read.reader().LoadFromFile(context.read_options, read.steps, fetch_of[i],
                                          asked_for_all ? nullptr : &waited));
    if (!waited) continue;
    asked_for_all = true;
    for (const BatchRead* other : reads.subspan(i + 1)) {
      if (other->is_missing) other->reader().PrefetchFromFile(*other->steps);
    }
  }
}

}  // namespace winnow
