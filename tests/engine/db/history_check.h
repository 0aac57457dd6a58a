// Decides whether what several threads wrote and read at the same time fits one order of writes, in
// which every read sees one moment between its begin and its end: strict serialisability, of which
// frozen snapshots, whole batches and reading one's own writes are parts.
#ifndef WINNOW_TESTS_ENGINE_DB_HISTORY_CHECK_H_
#define WINNOW_TESTS_ENGINE_DB_HISTORY_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace winnow {

// A call, or the making of a snapshot or iterator together with all that was read through it.
struct HistoryCall {
  // Of a clock that all threads share; no two calls have a time in common.
  uint64_t begin = 0;
  uint64_t end = 0;
  bool is_write = false;
  // By key. Writes: the unique, positive number that was written, 0 for a deletion. Reads: the
  // number that was seen, 0 for an absent key.
  std::map<int, uint64_t> values;

  std::string ToString() const;
};

// Nothing if the calls fit one order, else which of them contradict each other. Every key is absent
// before the first call. What an absent key says is used where only one write can explain it.
//
// The order is narrowed down by what must follow from real time and from the values seen, as in
// Biswas and Enea, "On the Complexity of Checking Transactional Consistency", OOPSLA 2019: every
// contradiction that is reported is one; an order that fits in each such step is accepted.
std::optional<std::string> FindContradiction(const std::vector<HistoryCall>& calls);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_DB_HISTORY_CHECK_H_
