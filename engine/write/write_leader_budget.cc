// The bound of all memtables together: whose is flushed for it, and when writes wait.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/write/write_leader.h"

namespace winnow {

namespace {

// How often active memtables over their share are looked at while none of them can be switched.
constexpr size_t kLooksPerBudget = 16;

}  // namespace

// Numbers that change with whole chunks of memory: for as long as nothing is due, a look costs a
// group next to nothing.
bool WriteLeader::WriteBuffersNeedCare() const {
  const WriteBufferBudget& budget = *parts_.families->write_buffers();
  return budget.active_bytes() > switch_buffers_above_.load(std::memory_order_relaxed) ||
         budget.MustWait();
}

// Ends for what will not pass as well, as WaitWhileStopped does, and where no flush is ahead.
absl::Status WriteLeader::WaitForWriteBuffers(bool* waited) {
  const WriteBufferBudget& budget = *parts_.families->write_buffers();
  BackgroundErrors& errors = parts_.scheduler->errors();
  while (budget.MustWait() && errors.fatal().ok() && !parts_.scheduler->is_stopping()) {
    const ColumnFamilyState* family = FamilyThatGivesMemoryBack();
    if (family == nullptr) break;
    WINNOW_RETURN_IF_ERROR(errors.StallError(JobKind::kFlush));
    *waited = true;
    NoteStall(family->name(), "writes wait for flushes: memtables take db_write_buffer_bytes");
    parts_.scheduler->SignalWork();
    parts_.scheduler->WaitForProgress();
  }
  return absl::OkStatus();
}

const ColumnFamilyState* WriteLeader::FamilyThatGivesMemoryBack() const {
  for (const auto& [id, family] : parts_.families->live()) {
    if (family->is_dropped()) continue;
    if (!family->immutables.empty() || family->is_releasing()) return family;
  }
  return nullptr;
}

// The largest first: they make the fewest files for what they give back. Several at one time, since
// each switch of a memtable begins a log, and those that come together share one.
absl::Status WriteLeader::SwitchForWriteBuffers() {
  const WriteBufferBudget& budget = *parts_.families->write_buffers();
  if (budget.active_bytes() <= switch_buffers_above_.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  std::vector<std::pair<size_t, ColumnFamilyState*>> candidates;
  for (const auto& [id, family] : parts_.families->live()) {
    // Flushes that do not keep up are not helped by more memtables that wait for them.
    const size_t most = static_cast<size_t>(family->options().max_write_buffers);
    if (family->is_dropped() || family->active().empty() || family->immutables.size() + 1 >= most) {
      continue;
    }
    candidates.emplace_back(family->active().memory_bytes(), family);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [bytes, family] : candidates) {
    if (budget.active_bytes() <= budget.switch_down_to_bytes()) break;
    WINNOW_RETURN_IF_ERROR(SwitchMemtable(family));
  }
  const size_t again = budget.active_bytes() + budget.limit_bytes() / kLooksPerBudget;
  switch_buffers_above_.store(std::max(budget.switch_above_bytes(), again),
                              std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace winnow
