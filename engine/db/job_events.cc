// What jobs tell of their beginnings and ends. One that has begun tells of its end whatever becomes
// of it: an error is in that event.
#include "engine/db/job_events.h"

#include <string>
#include <utility>

#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

Event FlushEvent(Event::Kind kind, std::string_view family, size_t num_memtables) {
  Event event;
  event.kind = kind;
  event.column_family = std::string(family);
  event.num_inputs = num_memtables;
  return event;
}

Event CompactionEvent(Event::Kind kind, std::string_view family, const Compaction& compaction) {
  Event event;
  event.kind = kind;
  event.column_family = std::string(family);
  event.num_inputs = compaction.num_input_files();
  event.output_level = compaction.output_level;
  event.message = compaction.reason;
  // From below, so that the topmost level with inputs remains: that is where the data comes from.
  for (int level = kNumLevels - 1; level >= 0; level--) {
    if (!compaction.inputs[static_cast<size_t>(level)].empty()) event.input_level = level;
  }
  return event;
}

Event RefilterEvent(Event::Kind kind, std::string_view family, std::string_view filter,
                    std::string_view path) {
  Event event;
  event.path = std::string(path);
  event.kind = kind;
  event.column_family = std::string(family);
  event.message = std::string(filter);
  return event;
}

// A filter that could not be made is reported before the end of the job that it belongs to.
void NotifyEnd(EventQueue* events, Event event, const JobResult& result) {
  event.status = result.status;
  event.num_outputs = result.num_files;
  event.bytes_read = result.bytes_read;
  event.bytes_written = result.bytes_written;
  event.duration = MicrosSince(result.begin);
  if (result.num_filters_fell_back > 0) {
    Event fell_back;
    fell_back.kind = Event::Kind::kFilterNotWritten;
    fell_back.column_family = event.column_family;
    fell_back.num_outputs = result.num_filters_fell_back;
    events->Add(std::move(fell_back));
  }
  events->Add(std::move(event));
}

}  // namespace

// The queue takes events under any lock, so that these are called where the state changes, in
// order. A job does not fail for want of memory to tell of it.
void NotifyFlushBegin(EventQueue* events, std::string_view family, size_t num_memtables) {
  UnlessOutOfMemory(
      [&] { events->Add(FlushEvent(Event::Kind::kFlushBegin, family, num_memtables)); });
}

void NotifyFlushEnd(EventQueue* events, std::string_view family, size_t num_memtables,
                    const JobResult& result) {
  UnlessOutOfMemory([&] {
    NotifyEnd(events, FlushEvent(Event::Kind::kFlushEnd, family, num_memtables), result);
  });
}

void NotifyCompactionBegin(EventQueue* events, std::string_view family,
                           const Compaction& compaction) {
  UnlessOutOfMemory(
      [&] { events->Add(CompactionEvent(Event::Kind::kCompactionBegin, family, compaction)); });
}

void NotifyCompactionEnd(EventQueue* events, std::string_view family, const Compaction& compaction,
                         const JobResult& result) {
  UnlessOutOfMemory([&] {
    NotifyEnd(events, CompactionEvent(Event::Kind::kCompactionEnd, family, compaction), result);
  });
}

void NotifyRefilterBegin(EventQueue* events, std::string_view family, std::string_view filter,
                         std::string_view path) {
  UnlessOutOfMemory(
      [&] { events->Add(RefilterEvent(Event::Kind::kRefilterBegin, family, filter, path)); });
}

void NotifyRefilterEnd(EventQueue* events, std::string_view family, std::string_view filter,
                       const JobResult& result, std::string_view path) {
  UnlessOutOfMemory([&] {
    NotifyEnd(events, RefilterEvent(Event::Kind::kRefilterEnd, family, filter, path), result);
  });
}

}  // namespace winnow
