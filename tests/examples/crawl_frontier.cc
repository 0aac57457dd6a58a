// The frontier of a web crawler: each URL is fetched once, however many pages link to it.
//
// Nearly every link that a crawler meets was seen before or is new; for a new one the filters say
// "not here" without a read from disk, which is what makes one database of all URLs affordable.
#include <cctype>
#include <iostream>
#include <string>
#include <string_view>

#include "winnow/db.h"

namespace {

// One spelling for one page: scheme and host in lower case, no fragment, no empty path.
std::string Normalize(std::string_view url) {
  std::string normal(url.substr(0, url.find('#')));
  const size_t host = normal.find("://");
  if (host == std::string::npos) return normal;
  const size_t path = normal.find('/', host + 3);
  for (size_t i = 0; i < std::min(path, normal.size()); i++) {
    normal[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(normal[i])));
  }
  return path == std::string::npos ? normal + "/" : normal;
}

class Frontier {
 public:
  static absl::StatusOr<Frontier> Open(const std::string& path) {
    winnow::Options options;
    options.filter = "cuckoo:0.1%";  // of 1,000 new links one costs a read
    auto db = winnow::DB::Open(options, path);
    if (!db.ok()) return db.status();
    return Frontier(*std::move(db));
  }

  // True if the link is new; it is then remembered. MayExist asks memory and filters; only its
  // "maybe" is confirmed by a read, so that no page is left out because a filter was wrong.
  absl::StatusOr<bool> Offer(std::string_view link) {
    const std::string url = Normalize(link);
    if (db_->MayExist(winnow::ReadOptions(), url)) {
      confirmed_++;
      const absl::StatusOr<bool> seen = db_->Exists(winnow::ReadOptions(), url);
      if (!seen.ok() || *seen) return seen.ok() ? absl::StatusOr<bool>(false) : seen;
    }
    const absl::Status written = db_->Put(winnow::WriteOptions(), url, "");
    if (!written.ok()) return written;
    return true;
  }

  int confirmed() const { return confirmed_; }
  absl::Status Close() { return db_->Close(); }

 private:
  explicit Frontier(std::unique_ptr<winnow::DB> db) : db_(std::move(db)) {}

  std::unique_ptr<winnow::DB> db_;
  int confirmed_ = 0;
};

}  // namespace

int main() {
  absl::StatusOr<Frontier> frontier = Frontier::Open("crawl_frontier.db");
  if (!frontier.ok()) {
    std::cerr << frontier.status() << "\n";
    return 1;
  }
  for (const char* link :
       {"https://example.org/a", "HTTPS://Example.org/a#top", "https://example.org/A",
        "https://example.org", "https://example.org/", "https://example.org/a?page=2"}) {
    const absl::StatusOr<bool> is_new = frontier->Offer(link);
    if (!is_new.ok()) return 1;
    std::cout << (*is_new ? "fetch " : "seen  ") << link << "\n";
  }
  // Ten thousand links that nobody saw: few of them are asked for twice.
  int fetched = 0;
  for (int page = 0; page < 10000; page++) {
    const auto is_new = frontier->Offer("https://example.net/page/" + std::to_string(page));
    fetched += is_new.ok() && *is_new ? 1 : 0;
  }
  std::cout << fetched << " new pages\n"
            << (frontier->confirmed() < 300 ? "hardly any" : "too many") << " needless reads\n";
  return frontier->Close().ok() ? 0 : 1;
}
