// A filter block on disk: each unit of it checked by itself, and asked by itself.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_BLOCK_VERIFIER_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_BLOCK_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sstable/filter_block.h"
#include "engine/sstable/sstable_problem.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/resident_memory.h"

namespace winnow {

// Reads the block whole, whatever of it is in memory for look-ups, and holds it for as long as it
// lives. What is damaged of several units is named alone: the others are asked all the same.
class FilterBlockVerifier {
 public:
  // `listed`: the units that the table or its filter file lists; empty: the block is one. Nothing
  // of a block that a policy made is understood, but for its checksum.
  FilterBlockVerifier(const FilterBlockSource& source, std::span<const filter::BuiltUnit> listed);

  const std::vector<SstableProblem>& problems() const { return problems_; }

  // Does each sound unit let the key of this hash through?
  bool MayContain(uint64_t hash) const {
    for (const filter::FilterReader& reader : readers_) {
      if (!reader.MayContain(hash)) return false;
    }
    return true;
  }

 private:
  void CheckWhole(const FilterBlockSource& source);
  void CheckUnits(const FilterBlockSource& source, std::span<const filter::BuiltUnit> listed);
  // Keeps the reader, or says why not; `unit` is empty or names the unit.
  void Take(const filter::FilterReader& reader, uint64_t hash_seed, filter::FilterState state,
            uint64_t offset, std::string_view unit);

  filter::ResidentMemory memory_;
  std::vector<filter::FilterReader> readers_;  // of memory_
  std::vector<SstableProblem> problems_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_BLOCK_VERIFIER_H_
