// The bound of what tables take of memory besides filter and index: where many families share
// little memory, each flush makes a small table, and the level-0 triggers of one family know
// nothing of the others.
#include "engine/base/status.h"
#include "engine/cache/block_cache.h"
#include "engine/write/write_leader.h"

namespace winnow {

namespace {

// Of the cache's capacity: as much of level 0 may always wait for compactions. Memory may be short
// for other reasons, which they do not change, and a compaction of few tables costs as much as one
// of many.
constexpr size_t kPartForLevelZero = 16;

size_t LevelZeroTablesDue(const ColumnFamilyState& family)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  if (family.is_dropped() || family.options().disable_auto_compactions) return 0;
  size_t count = 0;
  for (const auto& file : family.version()->files(0)) count += file->quarantined ? 0 : 1;
  return count >= static_cast<size_t>(family.options().level0_compaction_trigger) ? count : 0;
}

// Whether a compaction is on its way, or will be without the help of anybody who may wait for
// writes.
bool WillGetFewerTables(const ColumnFamilyState& family)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  if (family.is_dropped() || family.level0_tables_due == 0) return false;
  if (family.compactions_running > 0) return true;
  if (family.manual_compaction_waiting || family.ingest_running) return false;
  return family.picker.CanPick(family.version(), family.options());
}

}  // namespace

void WriteLeader::CountLevelZeroTables(ColumnFamilyState* family) {
  if (!parts_.versions->store().charge_readers) return;
  const size_t due = LevelZeroTablesDue(*family);
  level0_tables_due_ += due - family->level0_tables_due;
  family->level0_tables_due = due;
  if (TablesAreTooMany()) RequestWork();
}

bool WriteLeader::TablesAreTooMany() const {
  const SstableStore& store = parts_.versions->store();
  if (!store.charge_readers || store.cache->capacity_bytes() == 0) return false;
  const size_t most = store.cache->capacity_bytes() / kPartForLevelZero;
  return level0_tables_due_ * SstableFile::FixedBytes() > most && store.cache->IsOvercharged();
}

// Ends, whatever else holds the tables or takes the memory. The leader waits, so that nothing new
// is switched, and flushes come to an end. It only waits while a compaction runs, or will, in a
// family whose level 0 counts. Each that succeeds moves data down or makes level 0 smaller: there
// are finitely many until level 0 is below its triggers, and counts no more. One that fails is an
// error of the write, or puts its damaged inputs into quarantine, where they do not count.
absl::Status WriteLeader::WaitForFewerTables(bool* waited) {
  BackgroundErrors& errors = parts_.scheduler->errors();
  while (TablesAreTooMany() && errors.fatal().ok() && !parts_.scheduler->is_stopping() &&
         !delays_ended_) {
    const ColumnFamilyState* family = FamilyThatGetsFewerTables();
    if (family == nullptr) break;
    WINNOW_RETURN_IF_ERROR(errors.StallError(JobKind::kCompaction));
    *waited = true;
    NoteStall(family->name(), "writes wait for compactions: tables take the block cache's memory");
    parts_.scheduler->SignalWork();
    parts_.scheduler->WaitForProgress();
  }
  return absl::OkStatus();
}

const ColumnFamilyState* WriteLeader::FamilyThatGetsFewerTables() const {
  for (const auto& [id, family] : parts_.families->live()) {
    if (WillGetFewerTables(*family)) return family;
  }
  return nullptr;
}

}  // namespace winnow
