// The table of web pages that Bigtable was made for: a row is a page, by its host backwards, so
// that pages of one domain are neighbours; "contents" keeps its last three fetches, and "anchor"
// has a column for each page that links to it.
#include <iostream>
#include <memory>
#include <string>

#include "winnow/table.h"

namespace {

using winnow::TableBatch;
using winnow::TableDatabase;

// A fetch and the links that it was found by take effect together.
absl::Status Fetched(TableDatabase& tables, winnow::Table* pages, const std::string& page,
                     uint64_t when, const std::string& html) {
  TableBatch batch;
  batch.Put(pages, page, "contents", "html", html, {.timestamp = when});
  batch.Put(pages, page, "anchor", "com.example/links", "read this", {.timestamp = when});
  return tables.Write(winnow::WriteOptions(), batch);
}

absl::Status PrintRows(TableDatabase& tables, winnow::Table* pages) {
  winnow::ScanOptions options;
  options.row_prefix = "org.example";
  options.max_versions = 3;
  const std::unique_ptr<winnow::RowScanner> scanner = tables.Scan(options, pages);
  winnow::RowResult row;
  while (scanner->Next(&row)) {
    std::cout << row.row() << "\n";
    for (const winnow::CellView& cell : row.cells()) {
      std::cout << "  " << cell.family << ":" << cell.qualifier << " @" << cell.timestamp << " "
                << cell.value << "\n";
    }
  }
  return scanner->status();
}

absl::Status Run(TableDatabase& tables) {
  absl::StatusOr<winnow::Table*> pages =
      tables.CreateTable({.name = "pages",
                          .families = {{.name = "anchor", .bloom_filter = "ROWCOL"},
                                       {.name = "contents", .max_versions = 3}}});
  if (!pages.ok()) return pages.status();
  for (uint64_t when = 1; when <= 4; when++) {
    absl::Status written =
        Fetched(tables, *pages, "org.example.www/", when, "version " + std::to_string(when));
    if (!written.ok()) return written;
  }
  absl::Status written = Fetched(tables, *pages, "org.example.blog/", 2, "hello");
  if (!written.ok()) return written;

  // A delete hides what was written before it, up to its timestamp; what comes later shows.
  TableBatch batch;
  batch.DeleteColumn(*pages, "org.example.www/", "contents", "html", 3);
  batch.Put(*pages, "org.example.www/", "contents", "html", "found in a mirror", {.timestamp = 1});
  written = tables.Write(winnow::WriteOptions(), batch);
  if (!written.ok()) return written;

  const auto fetches =
      tables.Increment(winnow::WriteOptions(), *pages, "robot", "anchor", "fetches", 5);
  if (!fetches.ok()) return fetches.status();
  std::cout << *fetches << " fetches\n";
  return PrintRows(tables, *pages);
}

}  // namespace

int main() {
  auto tables = TableDatabase::Open(winnow::Options(), "web_table.db");
  absl::Status status = tables.ok() ? Run(**tables) : tables.status();
  if (status.ok()) status = (*tables)->Close();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
