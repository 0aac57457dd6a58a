// LevelDB, with the sizes of the run; its tables are as large as the other engines'. Compiled a
// second time with Winnow's headers in place of LevelDB's: leveldb_face.cc.
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/write_batch.h>

#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tools/winnow_bench/assertions.h"
#include "tools/winnow_bench/engine_factory.h"
#include "tools/winnow_bench/peer_session.h"
#include "tools/winnow_bench/process.h"

namespace winnow::bench {
namespace {

// Enough for every table; LevelDB maps up to 1,000 of them and reads those without copying.
constexpr int kUnlimitedOpenFiles = 50'000;

struct LevelDbApi {
  static constexpr const char* kName = WINNOW_BENCH_LEVELDB_NAME;
  using Database = leveldb::DB;
  using Iterator = leveldb::Iterator;
  using Slice = leveldb::Slice;
  using Status = leveldb::Status;
  using WriteBatch = leveldb::WriteBatch;
  using ReadOptions = leveldb::ReadOptions;
  using WriteOptions = leveldb::WriteOptions;
};

class LevelDbSession final : public PeerSession<LevelDbApi> {
 public:
  LevelDbSession(leveldb::DB* db, const SessionSettings& settings) : PeerSession(db, settings) {}

  bool Get(std::string_view key, uint64_t* bytes) override {
    return Found(db_->Get(read_options_, AsSlice<LevelDbApi>(key), &value_), value_, bytes);
  }

  // LevelDB has no such call; its users write this loop.
  uint64_t MultiGet(std::span<const std::string_view> keys, uint64_t* bytes) override {
    uint64_t found = 0;
    for (std::string_view key : keys) found += Get(key, bytes);
    return found;
  }

 private:
  std::string value_;
};

class LevelDbEngine final : public Engine {
 public:
  LevelDbEngine() = default;

  absl::Status Open(const EngineSettings& settings) {
    directory_ = settings.directory;
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression =
        settings.compression == "none" ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options.write_buffer_size = settings.write_buffer_bytes;
    options.block_size = settings.block_bytes;
    options.max_file_size = settings.table_file_bytes;
    options.max_open_files = settings.open_files < 0 ? kUnlimitedOpenFiles : settings.open_files;
    cache_.reset(leveldb::NewLRUCache(settings.cache_bytes));
    options.block_cache = cache_.get();
    const absl::StatusOr<double> bits = PeerBloomBits(LevelDbApi::kName, settings.filter);
    if (!bits.ok()) return bits.status();
    if (*bits > 0) {
      filter_.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(std::lround(*bits))));
    }
    options.filter_policy = filter_.get();
    leveldb::DB* db = nullptr;
    const leveldb::Status opened = leveldb::DB::Open(options, settings.directory, &db);
    db_.reset(db);
    return AsStatus<LevelDbApi>(opened);
  }

  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionSettings& settings) override {
    if (settings.disable_wal) {
      return absl::UnimplementedError("leveldb always writes its log; leave out --disable_wal");
    }
    return std::make_unique<LevelDbSession>(db_.get(), settings);
  }

  // LevelDB has no call to flush. Compacting a range writes the memtable first, and this range
  // holds nothing, so that no table is touched.
  absl::Status Flush() override {
    const leveldb::Slice nothing("");
    db_->CompactRange(&nothing, &nothing);
    return absl::OkStatus();
  }

  absl::Status Compact() override {
    db_->CompactRange(nullptr, nullptr);
    return absl::OkStatus();
  }

  // LevelDB does not say whether it compacts: it is done when its files have stayed as they are
  // for a while.
  absl::Status WaitForCompactions() override {
    uint64_t bytes = DirectoryBytes(directory_);
    for (int quiet = 0; quiet < kQuietPolls; quiet++) {
      absl::SleepFor(absl::FromChrono(kPoll));
      const uint64_t now = DirectoryBytes(directory_);
      if (now != bytes) quiet = -1;
      bytes = now;
    }
    return absl::OkStatus();
  }
  std::chrono::milliseconds IdleTimeOfWait() const override { return kQuietPolls * kPoll; }

  EngineCounters Counters() override { return {}; }
  FilterShape Shape() override { return {}; }
  std::string StatsText() override { return Property("leveldb.stats"); }
  std::string LevelsText() override { return Property("leveldb.sstables"); }

  absl::Status Close() override {
    db_.reset();
    return absl::OkStatus();
  }

 private:
  static constexpr int kQuietPolls = 10;
  static constexpr std::chrono::milliseconds kPoll{50};

  std::string Property(const char* name) {
    std::string text;
    db_->GetProperty(name, &text);
    return text;
  }

  std::string directory_;
  // The database uses the two above it until it is closed.
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

std::string Title() {
  std::string title = absl::StrCat("leveldb ", leveldb::kMajorVersion, ".", leveldb::kMinorVersion);
  if (LoadedWithAssertions("libleveldb").value_or(WINNOW_BENCH_LEVELDB_ASSERTIONS)) {
    title.append(" (assertions on: release builds are faster)");
  }
  return title;
}

absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineSettings& settings) {
  if (settings.compression != "none" && settings.compression != "snappy") {
    return absl::UnimplementedError(absl::StrCat(
        "leveldb compresses with snappy or not at all, not with ", settings.compression));
  }
  if (settings.filter_key != "whole") {
    return absl::UnimplementedError("leveldb runs with --filter_key=whole only");
  }
  if (settings.disable_auto_compactions) {
    return absl::UnimplementedError("leveldb cannot stop compactions");
  }
  auto engine = std::make_unique<LevelDbEngine>();
  absl::Status opened = engine->Open(settings);
  if (!opened.ok()) return opened;
  return engine;
}

absl::Status Destroy(const std::string& directory) {
  return AsStatus<LevelDbApi>(leveldb::DestroyDB(directory, leveldb::Options()));
}

}  // namespace

const EngineFactory kLevelDbFactory = {LevelDbApi::kName, WritePath::kLog, Title, Destroy, Open};

}  // namespace winnow::bench
