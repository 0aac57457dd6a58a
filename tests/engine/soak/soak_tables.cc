#include "tests/engine/soak/soak_tables.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace winnow::soak {

namespace {

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string InMiB(const Usage& before, const Usage& most, const Usage& after) {
  return absl::StrFormat("%7.1f %8.1f %8.1f", MiB(before.resident_bytes), MiB(most.resident_bytes),
                         MiB(after.resident_bytes));
}

std::string Descriptors(const Usage& before, const Usage& most, const Usage& after) {
  return absl::StrFormat("%4d %4d %4d", before.descriptors, most.descriptors, after.descriptors);
}

std::string Longest(uint64_t milliseconds, const std::string& call) {
  return absl::StrFormat("%d ms (%s)", milliseconds, call);
}

const char* Verdict(const std::vector<std::string>& problems) {
  return problems.empty() ? "ok" : "BROKEN";
}

}  // namespace

void PrintLimitsTitles() {
  absl::PrintF("\n%8s %7s %10s %6s %-11s %9s %8s  %-26s %-15s %-17s %s\n", "families", "threads",
               "value", "files", "limit", "calls", "refused", "RSS MiB", "descriptors", "disk MiB",
               "longest call");
}

void PrintLimitsRow(const Cell& cell, const CellReport& report) {
  absl::PrintF("%8d %7d %10d %6d %-11s %9d %8d  %s  %s  %7.1f %8.1f  %s\n", cell.families,
               cell.threads, cell.value_bytes, cell.files, LimitName(cell.limit), report.calls,
               report.refused, InMiB(report.before, report.during, report.after),
               Descriptors(report.before, report.during, report.after),
               MiB(report.during.disk_bytes), MiB(report.after.disk_bytes),
               Longest(report.longest_milliseconds, report.longest_call));
  if (!report.problems.empty()) absl::PrintF("  problems of: %s\n", Describe(cell));
  PrintProblems(report.problems);
}

void PrintMemoryTitles() {
  absl::PrintF("\n%24s %8s %10s %-10s %44s\n", "", "", "", "", "highest RSS MiB");
  absl::PrintF("%10s %13s %8s %10s %-10s %8s %8s %10s %9s  %5s %9s %7s  %-26s %s\n", "asked MiB",
               "allowed MiB", "families", "keys", "order", "loading", "reading", "compacting",
               "reopened", "files", "disk MiB", "seconds", "longest call", "verdict");
}

void PrintMemoryRow(const MemoryCell& cell, const MemoryReport& report) {
  absl::PrintF("%10.0f %13.1f %8d %10d %-10s %8.1f %8.1f %10.1f %9.1f  %5d %9.1f %7d  %-26s %s\n",
               MiB(cell.memory_bytes), MiB(AllowedBytes(cell)), cell.families, cell.keys,
               kKeyOrderNames[static_cast<size_t>(cell.order)], MiB(report.loading_bytes),
               MiB(report.reading_bytes), MiB(report.compacting_bytes), MiB(report.reopened_bytes),
               report.descriptors, MiB(report.disk_bytes), report.seconds,
               Longest(report.longest_milliseconds, report.longest_call), Verdict(report.problems));
  PrintProblems(report.problems);
}

void PrintFilesTitles() {
  absl::PrintF("\n%47s %26s  %44s\n", "", "", "RSS MiB: before, while");
  absl::PrintF("%7s %8s %11s %15s  %7s %9s %8s  %7s %8s %8s %10s %7s  %-15s %-17s %-24s %s\n",
               "files", "families", "ulimit -n", "tables", "open ms", "compact s", "close ms", "",
               "writing", "reading", "compacting", "after", "descriptors", "disk MiB",
               "longest call", "verdict");
}

void PrintFilesRow(const FilesCell& cell, const FilesReport& report) {
  absl::PrintF(
      "%7d %8d %11d %7d %7d  %7d %9.1f %8d  %7.1f %8.1f %8.1f %10.1f %7.1f  %s  %7.1f %8.1f  "
      "%-24s %s\n",
      cell.files, cell.families, cell.descriptors, report.flushed_tables, report.compacted_tables,
      report.open_milliseconds, static_cast<double>(report.compact_milliseconds) / 1000,
      report.close_milliseconds, MiB(report.before.resident_bytes), MiB(report.writing_bytes),
      MiB(report.reading_bytes), MiB(report.compacting_bytes), MiB(report.after.resident_bytes),
      Descriptors(report.before, report.most, report.after), MiB(report.most.disk_bytes),
      MiB(report.after.disk_bytes), Longest(report.longest_milliseconds, report.longest_call),
      Verdict(report.problems));
  PrintProblems(report.problems);
}

void PrintIntervalTitles() {
  absl::PrintF("%8s  %-18s %7s %9s %8s %9s %8s %10s %8s %5s %8s %7s  %s\n", "interval", "fault",
               "fired", "reads", "failed", "writes", "refused", "longest ms", "RSS MiB", "fds",
               "disk MiB", "errors", "reopened");
}

void PrintIntervalRow(int interval, const Sample& sample) {
  absl::PrintF("%8d  %-18s %7d %9d %8d %9d %8d %10d %8.1f %5d %8.1f %7d  %s\n", interval,
               sample.fault, sample.faults_fired, sample.reads, sample.failed_reads, sample.writes,
               sample.failed_writes, sample.longest.count(), MiB(sample.resident_bytes),
               sample.descriptors, MiB(sample.disk_bytes), sample.background_errors,
               sample.reopened ? "yes" : "");
  std::fflush(stdout);
}

void PrintProblems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) absl::PrintF("  %s\n", problem);
  std::fflush(stdout);
}

}  // namespace winnow::soak
