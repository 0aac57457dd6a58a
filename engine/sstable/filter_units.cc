#include "engine/sstable/filter_units.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// Nobody asks any more: who asked held the table.
FilterUnits::~FilterUnits() {
  {
    MutexLock lock(&ledger_->mutex_);
    ledger_->members_.erase(this);
  }
  delete present_.load(std::memory_order_acquire);
}

FilterUnits::FilterUnits(const BlockFile* file, BlockHandle block, uint64_t hash_seed,
                         std::vector<filter::BuiltUnit> units, FilterLedger* ledger)
    : file_(file), block_(block), hash_seed_(hash_seed), units_(std::move(units)), ledger_(ledger) {
  MutexLock lock(&ledger_->mutex_);
  ledger_->members_.insert(this);
}

uint64_t FilterUnits::resident_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < num_resident(); i++) bytes += units_[i].bytes;
  return bytes;
}

// A unit's own checksum says nothing of the file or the place that it came from, but the properties
// name it, and they are under one that does: what another table has there would deny keys.
std::unique_ptr<ResidentUnit> FilterUnits::Read(size_t index, LedgerCharge charge,
                                                absl::Status* read_status,
                                                filter::FilterState* state) const {
  auto unit = std::make_unique<ResidentUnit>();
  unit->charge = std::move(charge);
  uint64_t offset = block_.offset + filter::kFilterBlockHeaderBytes;
  for (size_t i = 0; i < index; i++) offset += units_[i].bytes;
  const auto bytes = static_cast<size_t>(units_[index].bytes);
  unit->memory = filter::ResidentMemory(bytes);
  if (unit->memory.data() == nullptr) {
    *read_status = absl::ResourceExhaustedError(
        absl::StrCat(file_->path(), ": no memory for a filter unit of ", bytes, " bytes"));
    return unit;
  }
  *read_status = file_->ReadBytes(offset, bytes, unit->memory.data());
  if (!read_status->ok()) return unit;
  unit->reader =
      filter::FilterReader::OpenUnit({unit->memory.data(), bytes}, units_[index].checksum, state);
  if (state->code == filter::FilterStateCode::kOk && !unit->reader.always_true() &&
      unit->reader.hash_seed() != hash_seed_) {
    *state = {filter::FilterStateCode::kDamaged,
              "made with another hash seed than the table names"};
  }
  if (state->code == filter::FilterStateCode::kOk) return unit;
  state->reason =
      absl::StrCat(file_->path(), ": at offset ", offset, ": filter unit: ", state->reason);
  unit->reader = filter::FilterReader();
  unit->memory = filter::ResidentMemory();
  unit->charge = LedgerCharge();
  return unit;
}

std::unique_ptr<ResidentUnit> FilterUnits::LoadFirst(filter::FilterState* state) {
  if (!ledger_->Reserve(units_[0].bytes, FilterLedger::Claim::kFirstUnit)) return nullptr;
  absl::Status read_status;
  auto unit = Read(0, LedgerCharge(ledger_, units_[0].bytes), &read_status, state);
  if (!read_status.ok())
    *state = {filter::FilterStateCode::kDamaged, std::string(read_status.message())};
  MutexLock lock(&ledger_->mutex_);
  first_here_ = 1;
  num_resident_.store(1, std::memory_order_release);
  return unit;
}

absl::StatusOr<bool> FilterUnits::LoadNext(FilterLedger::Claim claim) {
  const size_t index = num_resident();
  if (index == units_.size()) return false;
  const uint64_t bytes = units_[index].bytes;
  if (!ledger_->Reserve(bytes, claim)) return false;
  absl::Status read_status;
  filter::FilterState state;
  std::shared_ptr<const ResidentUnit> unit =
      Read(index, LedgerCharge(ledger_, bytes), &read_status, &state);
  WINNOW_RETURN_IF_ERROR(read_status);
  {
    MutexLock lock(&ledger_->mutex_);
    // Somebody needed the room of the units before it meanwhile, or loaded it too.
    if (num_resident() != index) return false;
    Publish(index + 1, std::move(unit));
  }
  if (state.code == filter::FilterStateCode::kOk) return true;
  return absl::DataLossError(state.reason);
}

void FilterUnits::DropTo(size_t count) {
  MutexLock lock(&ledger_->mutex_);
  while (num_resident() > count && CanDrop()) Publish(num_resident() - 1, nullptr);
}

void FilterUnits::Publish(size_t count, std::shared_ptr<const ResidentUnit> added) {
  const ResidentUnits* const before = present_.load(std::memory_order_relaxed);
  auto next = std::make_unique<ResidentUnits>();
  next->count = count - first_here_;
  for (size_t i = 0; i < next->count; i++) {
    const bool was_there = before != nullptr && i < before->count;
    next->units[i] = was_there ? before->units[i] : added;
  }
  ledger_->replaced_.reserve(ledger_->replaced_.size() + 1);
  num_resident_.store(count, std::memory_order_release);
  // Sequentially consistent, as whoever frees what was replaced needs it (hazard_slot.cc).
  present_.store(next.release(), std::memory_order_seq_cst);
  if (before != nullptr) ledger_->replaced_.emplace_back(before);
  ledger_->ReclaimLocked();
}

}  // namespace winnow
