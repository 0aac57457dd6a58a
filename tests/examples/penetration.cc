// Penetration: somebody asks for keys that do not exist. A cache alone sends each of them on to the
// database; a guard that remembers absent keys does so once a key; one with a filter in front
// hardly ever.
//
//   penetration [FILE.html]    prints a table, and draws it into the file
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/report/html_page.h"
#include "tools/report/report_file.h"
#include "tools/report/svg_chart.h"
#include "tools/report/text_table.h"
#include "winnow/guard/cache_guard.h"
#include "winnow/guard/memory_cache.h"

namespace {

using winnow::guard::CacheGuard;

constexpr size_t kRows = 20'000;
constexpr size_t kRequests = 200'000;
constexpr double kFpr = 0.01;

// A table of users that counts how often it is read.
class Database {
 public:
  Database() {
    for (size_t i = 0; i < kRows; ++i) rows_[absl::StrCat("user:", i)] = "a user";
  }
  absl::StatusOr<std::string> Read(std::string_view key) {
    ++reads_;
    const auto found = rows_.find(std::string(key));
    if (found == rows_.end()) return absl::NotFoundError("no row");
    return found->second;
  }
  const std::unordered_map<std::string, std::string>& rows() const { return rows_; }
  size_t reads() const { return reads_; }

 private:
  std::unordered_map<std::string, std::string> rows_;
  size_t reads_ = 0;
};

// Nine of ten requests are the attacker's: keys that look right, and are not there. The rest are of
// users, of whom a few are asked for most.
std::vector<std::string> MakeRequests() {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> popularity(20.0 / kRows);
  std::vector<std::string> requests;
  for (size_t i = 0; i < kRequests; ++i) {
    const size_t user = i % 10 == 0
                            ? std::min<size_t>(static_cast<size_t>(popularity(random)), kRows - 1)
                            : kRows + random() % 1'000'000'000;
    requests.push_back(absl::StrCat("user:", user));
  }
  return requests;
}

struct Way {
  std::string name;
  size_t reads = 0;      // of the database
  uint64_t bytes = 0;    // that the cache takes
  std::string fpr = "";  // of the filter, measured
};

// What most programs do: read the cache, then the database, then fill the cache.
Way CacheAlone(const std::vector<std::string>& requests) {
  Database database;
  const auto cache = winnow::guard::NewMemoryCache();
  std::string value;
  for (const std::string& key : requests) {
    const auto found = cache->Get(key, &value);
    if (found.ok() && *found) continue;
    const auto row = database.Read(key);
    if (row.ok()) (void)cache->Set(key, *row, std::chrono::minutes(10));
  }
  return {"cache alone", database.reads(), cache->usage().bytes};
}

// With a guard, and with a filter of all keys in front of it or without.
absl::StatusOr<Way> WithGuard(const std::vector<std::string>& requests, bool has_filter) {
  Database database;
  const auto cache = winnow::guard::NewMemoryCache();
  auto filter = winnow::guard::NewBloomKeyFilter(kRows, kFpr);
  if (!filter.ok()) return filter.status();
  winnow::guard::GuardOptions options;
  if (has_filter) options.filter = filter->get();
  auto guard = CacheGuard::Create(cache.get(), options);
  if (!guard.ok()) return guard.status();
  for (const auto& [key, value] : database.rows()) {
    const auto intent = (*guard)->BeginInsert(key);  // as whoever writes the row does
    if (!intent.ok()) return intent.status();
  }
  const winnow::guard::Loader load = [&](std::string_view key) { return database.Read(key); };
  std::string value;
  for (const std::string& key : requests) {
    const absl::Status status = (*guard)->Get(key, load, &value);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  Way way = {has_filter ? "guard with a filter" : "guard without a filter", database.reads(),
             cache->usage().bytes};
  if (has_filter) {
    way.fpr = absl::StrFormat("%.2f %%", 100 * (*guard)->statistics().FilterFalsePositiveRate());
  }
  return way;
}

std::string Table(const std::vector<Way>& ways) {
  using winnow::report::TextTable;
  TextTable table;
  table.AddColumn("", TextTable::Align::kLeft);
  for (const char* title : {"requests", "database reads", "of 1,000 requests", "cache bytes",
                            "filter's false positives"}) {
    table.AddColumn(title, TextTable::Align::kRight);
  }
  for (const Way& way : ways) {
    table.AddRow({way.name, absl::StrCat(kRequests), absl::StrCat(way.reads),
                  absl::StrFormat("%.1f", 1000.0 * static_cast<double>(way.reads) / kRequests),
                  absl::StrCat(way.bytes), way.fpr});
  }
  return table.ToString();
}

std::string Page(const std::vector<Way>& ways) {
  std::vector<winnow::report::Bar> bars;
  for (const Way& way : ways) {
    const double reads = 1000.0 * static_cast<double>(way.reads) / kRequests;
    bars.push_back({way.name, reads, reads, reads});
  }
  return winnow::report::HtmlPage(
      "Penetration",
      absl::StrCat("<p>", kRequests, " requests, nine of ten for keys that do not exist.</p>\n",
                   winnow::report::BarChart("Reads of the database for 1,000 requests", bars),
                   "<pre>", winnow::report::EscapeMarkup(Table(ways)), "</pre>\n"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> requests = MakeRequests();
  std::vector<Way> ways = {CacheAlone(requests)};
  for (const bool has_filter : {false, true}) {
    auto way = WithGuard(requests, has_filter);
    if (!way.ok()) {
      std::cerr << way.status() << "\n";
      return 1;
    }
    ways.push_back(*std::move(way));
  }
  std::cout << Table(ways);
  const absl::Status status = winnow::report::WriteReportFile(argc > 1 ? argv[1] : "", Page(ways));
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
