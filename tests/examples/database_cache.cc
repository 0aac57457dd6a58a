// A cache guard whose cache is a winnow::DB: what a slow service has answered lies on disk,
// bounded, and is there again after a restart.
//
// The database is of the style "fifo": its oldest files are dropped, unread, once all of them are
// larger than the limit. The guard keeps the service from being asked twice for the same: one load
// a key at a time, and lives of random length. Since the cache is this process's alone it needs no
// locks (winnow/guard/cache.h); see GuardCache in winnow/filter/redis for one that has them.
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "winnow/db.h"
#include "winnow/guard/cache_guard.h"

namespace {

constexpr uint64_t kCacheBytes = uint64_t{64} << 20;

// Under each key eight bytes, when the value expires by the time of day, and the value.
class DatabaseCache final : public winnow::guard::Cache {
 public:
  // The database outlives the cache.
  explicit DatabaseCache(winnow::DB* db) : db_(db) {}

  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
    const absl::Status status = db_->Get(winnow::ReadOptions(), key, value);
    if (absl::IsNotFound(status)) return false;
    if (!status.ok()) return status;
    int64_t expires = 0;
    if (value->size() < sizeof(expires)) return false;
    std::memcpy(&expires, value->data(), sizeof(expires));
    value->erase(0, sizeof(expires));
    return NowMillis() < expires;
  }

  absl::Status Set(std::string_view key, std::string_view value,
                   std::chrono::milliseconds ttl) override {
    const int64_t expires = NowMillis() + ttl.count();
    std::string stored(sizeof(expires), '\0');
    std::memcpy(stored.data(), &expires, sizeof(expires));
    return db_->Put(winnow::WriteOptions(), key, stored.append(value));
  }

  // Synced: a value that was called invalid must not be there again after a power failure.
  absl::Status Remove(std::string_view key) override {
    winnow::WriteOptions options;
    options.sync = true;
    return db_->Delete(options, key);
  }

 private:
  static int64_t NowMillis() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  winnow::DB* const db_;
};

// What is slow to ask. It knows cities, and counts.
class Weather {
 public:
  absl::StatusOr<std::string> Ask(std::string_view city) {
    ++questions_;
    if (city == "Atlantis") return absl::NotFoundError("no such city");
    return "sun in " + std::string(city);
  }
  int questions() const { return questions_; }

 private:
  int questions_ = 0;
};

// One life of the program: asks for each city twice.
absl::Status Run(std::string_view day) {
  winnow::Options options;
  options.compaction = winnow::CompactionStyle::Fifo(kCacheBytes);
  auto opened = winnow::DB::Open(options, "database_cache.db");
  if (!opened.ok()) return opened.status();
  const std::unique_ptr<winnow::DB> db = *std::move(opened);
  DatabaseCache cache(db.get());
  auto guard = winnow::guard::CacheGuard::Create(&cache, {});
  if (!guard.ok()) return guard.status();
  Weather weather;
  const winnow::guard::Loader load = [&weather](std::string_view city) {
    return weather.Ask(city);
  };
  std::cout << day << "\n";
  for (const std::string_view city : {"Oslo", "Atlantis", "Oslo", "Atlantis"}) {
    const absl::StatusOr<std::string> answer = (*guard)->Get(city, load);
    if (!answer.ok() && !absl::IsNotFound(answer.status())) return answer.status();
    std::cout << "  " << (answer.ok() ? *answer : "no " + std::string(city)) << "\n";
  }
  const absl::Status status = (*guard)->Invalidate("Atlantis");
  if (!status.ok()) return status;
  std::cout << "  questions to the service: " << weather.questions() << "\n";
  guard->reset();  // before what it uses
  return db->Close();
}

}  // namespace

int main() {
  for (const std::string_view day : {"first start", "second start"}) {
    const absl::Status status = Run(day);
    if (!status.ok()) {
      std::cerr << status << "\n";
      return 1;
    }
  }
  return 0;
}
