// Events as people read them.
#include "absl/strings/str_cat.h"
#include "engine/base/counted.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "winnow/event_listener.h"

namespace winnow {

namespace {

// How flushes and compactions end. What a failed one had written is removed and not worth counting.
std::string Outcome(const Event& event) {
  const double seconds = std::chrono::duration<double>(event.duration).count();
  if (!event.status.ok()) {
    return absl::StrCat("fails after ", FixedPoint(seconds, 3), " s: ", event.status.ToString());
  }
  return absl::StrCat("ends after ", FixedPoint(seconds, 3),
                      " s: ", Counted(event.num_outputs, "file"), ", ",
                      Counted(event.bytes_written, "byte"), " written");
}

std::string CompactionText(const Event& event) {
  const std::string what = absl::StrCat("compaction of ", event.column_family, " from level ",
                                        event.input_level, " to ", event.output_level, " ");
  if (event.kind == Event::Kind::kCompactionBegin) {
    return absl::StrCat(what, "begins: ", Counted(event.num_inputs, "file"),
                        event.message.empty() ? "" : ", ", event.message);
  }
  return absl::StrCat(what, Outcome(event), ", ", Counted(event.bytes_read, "byte"), " read");
}

// A call refilters a whole family, the planner one file at a time: the path tells which of them it
// was.
std::string RefilterText(const Event& event) {
  if (event.path.empty()) {
    return absl::StrCat("refiltering of ", event.column_family, " with ", event.message);
  }
  return absl::StrCat("refiltering of ", event.path, " (", event.column_family, ") with ",
                      event.message, ", chosen by the planner,");
}

// As Outcome; the levels, in the message, stand for the files that another job would have written.
std::string IngestOutcome(const Event& event) {
  const double seconds = std::chrono::duration<double>(event.duration).count();
  if (!event.status.ok()) {
    return absl::StrCat("fails after ", FixedPoint(seconds, 3), " s: ", event.status.ToString());
  }
  return absl::StrCat("ends after ", FixedPoint(seconds, 3),
                      " s: ", Counted(event.bytes_written, "byte"), ", ", event.message);
}

// The detail may have several lines (what recovery reports has); the log indents them.
std::string Followed(std::string_view text, const std::string& detail) {
  return detail.empty() ? std::string(text) : absl::StrCat(ToAbsl(text), ": ", detail);
}

}  // namespace

// Names that programs compare with: they stay as they are. Neither switch has a default, so that
// compilers name a kind that was forgotten; the last kind stands behind it for those that want a
// return on every path.
std::string_view EventKindName(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kDatabaseOpened:
      return "database-opened";
    case Event::Kind::kDatabaseClosed:
      return "database-closed";
    case Event::Kind::kFlushBegin:
      return "flush-begin";
    case Event::Kind::kFlushEnd:
      return "flush-end";
    case Event::Kind::kCompactionBegin:
      return "compaction-begin";
    case Event::Kind::kCompactionEnd:
      return "compaction-end";
    case Event::Kind::kRefilterBegin:
      return "refilter-begin";
    case Event::Kind::kRefilterEnd:
      return "refilter-end";
    case Event::Kind::kIngestEnd:
      return "ingest-end";
    case Event::Kind::kGarbageMet:
      return "garbage-met";
    case Event::Kind::kWriteStallBegin:
      return "write-stall-begin";
    case Event::Kind::kWriteStallEnd:
      return "write-stall-end";
    case Event::Kind::kBackgroundError:
      return "background-error";
    case Event::Kind::kFileCreated:
      return "file-created";
    case Event::Kind::kFileRemoved:
      return "file-removed";
    case Event::Kind::kCorruptionFound:
      return "corruption-found";
    case Event::Kind::kFilterDegraded:
      return "filter-degraded";
    case Event::Kind::kOptionsChanged:
      return "options-changed";
    case Event::Kind::kFilterRateOffPromise:
      return "filter-rate-off-promise";
    case Event::Kind::kMergeFailed:
      return "merge-failed";
    case Event::Kind::kDeadlockFound:
      return "deadlock-found";
    case Event::Kind::kFilterNotWritten:
      break;
  }
  return "filter-not-written";
}

// For people, and free to change. Without the time, which whoever prints it puts in front.
std::string Event::ToString() const {
  switch (kind) {
    case Kind::kDatabaseOpened:
      return Followed("database opened", message);
    case Kind::kDatabaseClosed:
      return Followed("database closed", status.ok() ? "" : status.ToString());
    case Kind::kFlushBegin:
      return absl::StrCat("flush of ", column_family, " begins: ", Counted(num_inputs, "memtable"));
    case Kind::kFlushEnd:
      return absl::StrCat("flush of ", column_family, " ", Outcome(*this));
    case Kind::kCompactionBegin:
    case Kind::kCompactionEnd:
      return CompactionText(*this);
    case Kind::kRefilterBegin:
      return absl::StrCat(RefilterText(*this), " begins");
    case Kind::kRefilterEnd:
      return absl::StrCat(RefilterText(*this), " ", Outcome(*this), ", ",
                          Counted(bytes_read, "byte"), " read");
    case Kind::kIngestEnd:
      return absl::StrCat("ingestion of ", Counted(num_inputs, "file"), " ", IngestOutcome(*this));
    case Kind::kGarbageMet:
      return absl::StrCat("an iterator over ", column_family, " passed ", num_inputs,
                          " deleted or hidden entries in a row");
    case Kind::kWriteStallBegin:
      return absl::StrCat("write stall begins, because of ", column_family, ": ", message);
    case Kind::kWriteStallEnd:
      return absl::StrCat("write stall ends after ",
                          FixedPoint(std::chrono::duration<double>(duration).count(), 3), " s");
    case Kind::kBackgroundError:
      return absl::StrCat(message, " failed, ",
                          will_retry ? "is tried again" : "no more writes until reopened", ": ",
                          status.ToString());
    case Kind::kFileCreated:
      return absl::StrCat("file created: ", path);
    case Kind::kFileRemoved:
      return absl::StrCat("file removed: ", path);
    case Kind::kCorruptionFound:
      return absl::StrCat("corruption found: ", status.ToString());
    case Kind::kFilterDegraded:
      return absl::StrCat("filter of ", path, " (", column_family, ") cannot be asked: ", message);
    case Kind::kOptionsChanged:
      return absl::StrCat("options changed", column_family.empty() ? "" : " of ", column_family,
                          ": ", message);
    case Kind::kFilterRateOffPromise:
      return absl::StrCat("filters do not keep what they promise: ", message);
    case Kind::kMergeFailed:
      return absl::StrCat(message, " of ", column_family,
                          " meets operands without a value: ", status.message(),
                          num_inputs > 1 ? absl::StrCat(" (", num_inputs, " of them lately)") : "");
    case Kind::kDeadlockFound:
      return absl::StrCat(
          status.message(),
          num_inputs > 1 ? absl::StrCat(" (", num_inputs, " deadlocks lately)") : "");
    case Kind::kFilterNotWritten:
      break;
  }
  return absl::StrCat("SSTables of ", column_family, " were written without their filter");
}

}  // namespace winnow
