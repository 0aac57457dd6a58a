// What the scans of a table did last, of those that read blocks from the file.
#ifndef WINNOW_ENGINE_SSTABLE_SCAN_HISTORY_H_
#define WINNOW_ENGINE_SSTABLE_SCAN_HISTORY_H_

#include <atomic>
#include <cstdint>

namespace winnow {

// Tells seeks whose few keys cross the end of a block from scans. The former would read four blocks
// instead of one ahead of themselves; the latter need one system call less if they do so from their
// second block on. A workload mostly has one or the other.
//
// A two-bit counter, as processors predict branches with (Smith, ISCA 1981). Thread-safe; of notes
// made at once one may be lost. Once it knows, nothing is written, so that readers share its line.
class ScanHistory {
 public:
  // Of a walk that has loaded a second block: did it load a third?
  void Note(bool went_on) {
    const uint8_t count = count_.load(std::memory_order_relaxed);
    if (went_on && count < kMost) {
      count_.store(static_cast<uint8_t>(count + 1), std::memory_order_relaxed);
    } else if (!went_on && count > 0) {
      count_.store(static_cast<uint8_t>(count - 1), std::memory_order_relaxed);
    }
  }
  // Will the next one, most likely?
  bool ExpectsToGoOn() const { return count_.load(std::memory_order_relaxed) > kMost / 2; }

 private:
  static constexpr uint8_t kMost = 3;
  std::atomic<uint8_t> count_{0};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SCAN_HISTORY_H_
