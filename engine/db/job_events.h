// The events at both ends of a flush or a compaction.
#ifndef WINNOW_ENGINE_DB_JOB_EVENTS_H_
#define WINNOW_ENGINE_DB_JOB_EVENTS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/steady_clock.h"
#include "engine/compaction/compaction.h"
#include "engine/events/event_queue.h"

namespace winnow {

struct JobResult {
  absl::Status status;
  uint64_t num_files = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t num_filters_fell_back = 0;
  SteadyTime begin;
};

void NotifyFlushBegin(EventQueue* events, std::string_view family, size_t num_memtables);
void NotifyFlushEnd(EventQueue* events, std::string_view family, size_t num_memtables,
                    const JobResult& result);
void NotifyCompactionBegin(EventQueue* events, std::string_view family,
                           const Compaction& compaction);
void NotifyCompactionEnd(EventQueue* events, std::string_view family, const Compaction& compaction,
                         const JobResult& result);
// `path`: the one SSTable that the planner chose; empty: a call of Refilter.
void NotifyRefilterBegin(EventQueue* events, std::string_view family, std::string_view filter,
                         std::string_view path = {});
void NotifyRefilterEnd(EventQueue* events, std::string_view family, std::string_view filter,
                       const JobResult& result, std::string_view path = {});

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_JOB_EVENTS_H_
