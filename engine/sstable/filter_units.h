// The units of one table's filter, any number of which, from the first on, are in memory: those of
// its own filter, or of its filter file's. A filter that was not written in units is one.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_UNITS_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_UNITS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/hazard_slot.h"
#include "engine/sstable/filter_block.h"
#include "engine/sstable/filter_ledger.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/filter_state.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/resident_memory.h"

namespace winnow {

// A unit in memory.
struct ResidentUnit {
  LedgerCharge charge;
  filter::ResidentMemory memory;
  filter::FilterReader reader;  // of `memory`; answers "may contain" if it is damaged
};

// What readers ask beside the first unit. Immutable; replaced as a whole.
struct ResidentUnits {
  static constexpr size_t kMost = filter::FilterBuilder::kMaxUnitsToBuild;

  size_t count = 0;
  std::array<std::shared_ptr<const ResidentUnit>, kMost> units;
};

// Thread-safe. The first unit is the table's reader's, which asks it without a detour, wherever
// there was room for it when the table was opened; the others, and a first one for which there was
// none, come and go here. Readers never wait: they ask what is in memory when they come, which is
// announced in their hazard slot and freed once nobody does.
class FilterUnits {
 public:
  // Of a filter block whose units are listed, by the table's properties or by the filter file's
  // header; they fill it. The source's file and `ledger` outlive it.
  FilterUnits(const FilterBlockSource& source, std::vector<filter::BuiltUnit> units,
              FilterLedger* ledger);
  // Of a block that has no list: all of it is one unit, known for the right one by the checksum
  // behind the block, which is in memory as well.
  FilterUnits(const FilterBlockSource& source, double expected_fpr, FilterLedger* ledger);
  ~FilterUnits();
  FilterUnits(const FilterUnits&) = delete;
  FilterUnits& operator=(const FilterUnits&) = delete;

  // What the units here say; with none in memory "may contain".
  bool MayContain(uint64_t hash) const {
    HazardGuard guard(HazardSlot::kFilterUnits);
    if (!guard.is_free()) return true;
    const ResidentUnits* const present = guard.Announce(present_);
    if (present == nullptr) return true;
    for (size_t i = 0; i < present->count; i++) {
      if (!present->units[i]->reader.MayContain(hash)) return false;
    }
    return true;
  }

  const std::vector<filter::BuiltUnit>& units() const { return units_; }
  // Where they are: the table, or its filter file.
  const BlockFile& file() const { return *source_.file; }
  // From the first on, the reader's own included.
  size_t num_resident() const { return num_resident_.load(std::memory_order_acquire); }
  uint64_t resident_bytes() const;
  // What the objects around the units take, as much as if all units were in memory.
  size_t bytes_besides_units() const;
  // Of the first unit here; kNone: none is in memory, or it is damaged.
  filter::FilterKind kind() const ABSL_LOCKS_EXCLUDED(ledger_->mutex_);

  // Reads the first unit for the table's reader to keep. Once, before anything else; null: there is
  // no room for it. `*read_status` is that of the file and of memory: whatever went wrong, the unit
  // counts as resident and answers "may contain".
  std::unique_ptr<ResidentUnit> LoadFirst(filter::FilterState* state, absl::Status* read_status);

  // Reads the next unit; false: there is none, or no room for it. An error: the file could not be
  // read, and another try may succeed, or DataLoss: the unit is damaged, counts as resident from
  // now on and answers "may contain".
  absl::StatusOr<bool> LoadNext(FilterLedger::Claim claim);
  // Until so many are left, none included, or only the reader's own.
  void DropTo(size_t count) ABSL_LOCKS_EXCLUDED(ledger_->mutex_);

  // What a byte of the last resident unit saves; by the planner, for FilterLedger to compare.
  void set_value(double value) { value_.store(value, std::memory_order_relaxed); }

 private:
  friend class FilterLedger;

  FilterUnits(const FilterBlockSource& source, bool is_whole, std::vector<filter::BuiltUnit> units,
              FilterLedger* ledger);

  // Without memory and charge unless all is well.
  std::unique_ptr<ResidentUnit> Read(size_t index, LedgerCharge charge, absl::Status* read_status,
                                     filter::FilterState* state) const;
  // Makes the units from `first_here_` on that are below `count` all that readers ask. `ledger` is
  // *ledger_, by the name under which its lock is held.
  void Publish(FilterLedger& ledger, size_t count, std::shared_ptr<const ResidentUnit> added)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(ledger.mutex_);
  bool CanDrop(const FilterLedger& ledger) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(ledger.mutex_) {
    return num_resident() > 1 && num_resident() > first_here_;
  }

  filter::FilterState ReadListed(size_t index, ResidentUnit* unit, absl::Status* read_status) const;

  const FilterBlockSource source_;
  const bool is_whole_;
  const std::vector<filter::BuiltUnit> units_;
  FilterLedger* const ledger_;
  size_t first_here_ = 0;  // 1: the reader has the first unit; fixed once others may see this
  std::atomic<size_t> num_resident_{0};
  std::atomic<const ResidentUnits*> present_{nullptr};  // owned
  std::atomic<double> value_{0};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_UNITS_H_
