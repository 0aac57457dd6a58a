#include "engine/sstable/filter_units.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// Nobody asks any more: who asked held the table.
FilterUnits::~FilterUnits() {
  {
    // First: for as long as it is a member, Reserve for another table may drop its last unit.
    MutexLock lock(&ledger_->mutex_);
    ledger_->members_.erase(this);
  }
  delete present_.load(std::memory_order_acquire);
}

FilterUnits::FilterUnits(const FilterBlockSource& source, std::vector<filter::BuiltUnit> units,
                         FilterLedger* ledger)
    : FilterUnits(source, /*is_whole=*/false, std::move(units), ledger) {}

FilterUnits::FilterUnits(const FilterBlockSource& source, double expected_fpr, FilterLedger* ledger)
    : FilterUnits(source, /*is_whole=*/true,
                  {{source.handle.size + kBlockTrailerBytes, expected_fpr, 0}}, ledger) {}

FilterUnits::FilterUnits(const FilterBlockSource& source, bool is_whole,
                         std::vector<filter::BuiltUnit> units, FilterLedger* ledger)
    : source_(source), is_whole_(is_whole), units_(std::move(units)), ledger_(ledger) {
  MutexLock lock(&ledger_->mutex_);
  ledger_->members_.insert(this);
}

// An estimate: units may come and go while it counts.
uint64_t FilterUnits::resident_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < num_resident(); i++) bytes += units_[i].bytes;
  return bytes;
}

// With what the allocator adds to each of them, and the place among the ledger's members.
size_t FilterUnits::bytes_besides_units() const {
  constexpr size_t kBytesOfAllocation = 16;
  constexpr size_t kBytesOfSharing = 32;
  constexpr size_t kBytesOfMember = 48;
  return sizeof(*this) + sizeof(ResidentUnits) + kBytesOfMember + 3 * kBytesOfAllocation +
         units_.size() * (sizeof(filter::BuiltUnit) + sizeof(ResidentUnit) + kBytesOfSharing +
                          2 * kBytesOfAllocation);
}

// A unit's own checksum says nothing of the file or the place that it came from, but the list names
// it, which is under one that does: what another table has there would deny keys.
filter::FilterState FilterUnits::ReadListed(size_t index, ResidentUnit* unit,
                                            absl::Status* read_status) const {
  // Units follow the header of the block, one behind the other.
  uint64_t offset = source_.handle.offset + filter::kFilterBlockHeaderBytes;
  for (size_t i = 0; i < index; i++) offset += units_[i].bytes;
  const std::string_view bytes(unit->memory.data(), units_[index].bytes);
  filter::FilterState state;
  *read_status = source_.file->ReadBytes(offset, bytes.size(), unit->memory.data());
  if (!read_status->ok()) return state;
  unit->reader = filter::FilterReader::OpenUnit(bytes, units_[index].checksum, &state);
  if (state.code == filter::FilterStateCode::kOk && !unit->reader.always_true() &&
      unit->reader.hash_seed() != source_.hash_seed) {
    state = {filter::FilterStateCode::kDamaged, "made with another hash seed than the table names"};
  }
  if (state.code != filter::FilterStateCode::kOk) {
    state.reason = absl::StrCat("unit ", index + 1, ", at offset ", offset, ": ", state.reason);
  }
  return state;
}

std::unique_ptr<ResidentUnit> FilterUnits::Read(size_t index, LedgerCharge charge,
                                                absl::Status* read_status,
                                                filter::FilterState* state) const {
  auto unit = std::make_unique<ResidentUnit>();
  // It stays with the unit, whose memory goes before it: FilterLedger's first invariant.
  unit->charge = std::move(charge);
  const auto bytes = static_cast<size_t>(units_[index].bytes);
  unit->memory = filter::ResidentMemory(bytes);
  *state = filter::FilterState();
  if (unit->memory.data() == nullptr) {
    *read_status = absl::ResourceExhaustedError(
        absl::StrCat(source_.file->path(), ": no memory for a filter unit of ", bytes, " bytes"));
  } else if (is_whole_) {
    *state = ReadFilterBlock(source_, unit->memory.data(), &unit->reader, read_status);
  } else {
    *state = ReadListed(index, unit.get(), read_status);
  }
  if (read_status->ok() && state->code == filter::FilterStateCode::kOk) return unit;
  // What was read goes, and its charge with it. The empty unit lets every key through, and may be
  // published as any other.
  return std::make_unique<ResidentUnit>();
}

std::unique_ptr<ResidentUnit> FilterUnits::LoadFirst(filter::FilterState* state,
                                                     absl::Status* read_status) {
  if (!ledger_->Reserve(units_[0].bytes, FilterLedger::Claim::kFirstUnit)) return nullptr;
  auto unit = Read(0, LedgerCharge(ledger_, units_[0].bytes), read_status, state);
  if (!read_status->ok()) {
    *state = {filter::FilterStateCode::kDamaged, std::string(read_status->message())};
  }
  // Nobody can ask the table yet, but for the ledger it has been a member since it was made.
  MutexLock lock(&ledger_->mutex_);
  first_here_ = 1;
  num_resident_.store(1, std::memory_order_release);
  return unit;
}

// The unit is read without the lock: neither other tables nor the ledger wait for the disk. Two
// threads may then read the same unit, of which the second finds the count changed and drops its
// copy.
absl::StatusOr<bool> FilterUnits::LoadNext(FilterLedger::Claim claim) {
  const size_t index = num_resident();
  if (index == units_.size()) return false;
  const uint64_t bytes = units_[index].bytes;
  if (!ledger_->Reserve(bytes, claim)) return false;
  absl::Status read_status;
  filter::FilterState state;
  std::shared_ptr<const ResidentUnit> unit =
      Read(index, LedgerCharge(ledger_, bytes), &read_status, &state);
  // A file that is too short, or another one by now, is damage: it is not tried again.
  if (!read_status.ok() && !absl::IsDataLoss(read_status)) return read_status;
  {
    MutexLock lock(&ledger_->mutex_);
    // Somebody needed the room of the units before it meanwhile, or loaded it too.
    if (num_resident() != index) return false;
    Publish(*ledger_, index + 1, std::move(unit));
  }
  WINNOW_RETURN_IF_ERROR(read_status);
  if (state.code == filter::FilterStateCode::kOk) return true;
  return CorruptionError(source_.file->path(), source_.handle.offset,
                         absl::StrCat("filter block: ", state.reason));
}

// From the last one: what is in memory is always the first so many.
void FilterUnits::DropTo(size_t count) {
  MutexLock lock(&ledger_->mutex_);
  while (num_resident() > std::max(count, first_here_))
    Publish(*ledger_, num_resident() - 1, nullptr);
}

filter::FilterKind FilterUnits::kind() const {
  MutexLock lock(&ledger_->mutex_);
  const ResidentUnits* const present = present_.load(std::memory_order_relaxed);
  if (present == nullptr || present->count == 0 || present->units[0]->reader.always_true()) {
    return filter::FilterKind::kNone;
  }
  return present->units[0]->reader.kind();
}

// Copy on write. Readers take no lock, so that the set which they ask is never changed but replaced
// by another, with a unit more or fewer. The old one waits among the ledger's replaced sets until
// no thread announces it; units that both have live on in the new one. All that may throw comes
// before the first store.
//
// The count and the set are two stores. A reader between them asks a unit fewer or more than the
// count says, and is not misled: each unit denies for itself.
void FilterUnits::Publish(FilterLedger& ledger, size_t count,
                          std::shared_ptr<const ResidentUnit> added) {
  const ResidentUnits* const before = present_.load(std::memory_order_relaxed);
  auto next = std::make_unique<ResidentUnits>();
  next->count = count - first_here_;
  for (size_t i = 0; i < next->count; i++) {
    const bool was_there = before != nullptr && i < before->count;
    next->units[i] = was_there ? before->units[i] : added;
  }
  ledger.replaced_.reserve(ledger.replaced_.size() + 1);
  num_resident_.store(count, std::memory_order_release);
  // Sequentially consistent, as whoever frees what was replaced needs it (hazard_slot.cc).
  present_.store(next.release(), std::memory_order_seq_cst);
  if (before != nullptr) ledger.replaced_.emplace_back(before);
  ledger.ReclaimLocked();
}

}  // namespace winnow
