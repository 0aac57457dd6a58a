// WiredTiger: one B-tree of its default kind, with a log that reaches the system at each commit, as
// the other engines' logs do, and a checkpoint a minute.
#include <wiredtiger.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/engine_factory.h"
#include "tools/winnow_bench/entry_batch.h"

namespace winnow::bench {
namespace {

constexpr const char* kTable = "table:winnow_bench";
constexpr const char* kTableFile = "winnow_bench.wt";
constexpr uint64_t kSmallestCache = 1 << 20;
constexpr uint64_t kSmallestLogFile = 100 << 10;
constexpr uint64_t kLargestLogFile = uint64_t{2} << 30;
// --threads is at most 1,024; each may write and look up beside another session that scans.
constexpr int kMaxSessions = 4096;

absl::Status Error(std::string_view call, int code) {
  return absl::UnavailableError(
      absl::StrCat("wiredtiger: ", absl::string_view(call.data(), call.size()), ": ",
                   wiredtiger_strerror(code)));
}

absl::Status AsStatus(std::string_view call, int code) {
  return code == 0 ? absl::OkStatus() : Error(call, code);
}

WT_ITEM AsItem(std::string_view text) {
  WT_ITEM item{};
  item.data = text.data();
  item.size = text.size();
  return item;
}

std::string_view AsView(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

// Where a cursor stands, with the five calls of WalkIterator.
class Position {
 public:
  explicit Position(WT_CURSOR* cursor) : cursor_(cursor) {}

  void SeekToFirst() {
    cursor_->reset(cursor_);
    Next();
  }
  void SeekToLast() {
    cursor_->reset(cursor_);
    Prev();
  }
  void Seek(std::string_view key) {
    const WT_ITEM wanted = AsItem(key);
    cursor_->set_key(cursor_, &wanted);
    int order = 0;
    Arrive(cursor_->search_near(cursor_, &order));
    if (Valid() && order < 0) Next();  // it stood on the neighbour before
  }
  bool Valid() const { return code_ == 0; }
  std::string_view key() const { return AsView(key_); }
  std::string_view value() const { return AsView(value_); }
  void Next() { Arrive(cursor_->next(cursor_)); }
  void Prev() { Arrive(cursor_->prev(cursor_)); }
  int code() const { return code_; }

 private:
  void Arrive(int code) {
    code_ = code;
    if (code_ == 0) code_ = cursor_->get_key(cursor_, &key_);
    if (code_ == 0) code_ = cursor_->get_value(cursor_, &value_);
  }

  WT_CURSOR* const cursor_;
  WT_ITEM key_{};
  WT_ITEM value_{};
  int code_ = WT_NOTFOUND;
};

class WiredTigerCursor final : public Cursor {
 public:
  // Owns the cursor.
  explicit WiredTigerCursor(WT_CURSOR* cursor) : cursor_(cursor), position_(cursor) {}
  ~WiredTigerCursor() override { cursor_->close(cursor_); }

  void SeekToFirst() override { position_.SeekToFirst(); }
  void SeekToLast() override { position_.SeekToLast(); }
  void Seek(std::string_view key) override { position_.Seek(key); }
  bool StandsOn(std::string_view key) override {
    return position_.Valid() && position_.key() == key;
  }
  uint64_t Walk(uint64_t max_entries, Direction direction, uint64_t* bytes) override {
    return WalkIterator(position_, max_entries, direction, bytes);
  }
  absl::Status status() override {
    return position_.code() == WT_NOTFOUND ? absl::OkStatus() : AsStatus("read", position_.code());
  }

 private:
  WT_CURSOR* const cursor_;
  Position position_;
};

// Stands for a cursor that could not be opened.
class FailedCursor final : public Cursor {
 public:
  explicit FailedCursor(absl::Status status) : status_(std::move(status)) {}
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  bool StandsOn(std::string_view) override { return false; }
  uint64_t Walk(uint64_t, Direction, uint64_t*) override { return 0; }
  absl::Status status() override { return status_; }

 private:
  const absl::Status status_;
};

class WiredTigerSession final : public Session {
 public:
  // Owns the session; `cursor` is one of its own.
  WiredTigerSession(WT_SESSION* session, WT_CURSOR* cursor, bool sync)
      : session_(session), cursor_(cursor), sync_(sync) {}
  ~WiredTigerSession() override { session_->close(session_, nullptr); }

  // A call outside a transaction is one of its own, which WiredTiger repeats after a conflict.
  void Put(std::string_view key, std::string_view value) override {
    if (!failed()) Written("put", Insert(key, value));
  }
  void Delete(std::string_view key) override {
    if (failed()) return;
    const WT_ITEM wanted = AsItem(key);
    cursor_->set_key(cursor_, &wanted);
    const int code = cursor_->remove(cursor_);
    Written("delete", code == WT_NOTFOUND ? 0 : code);
  }
  void AddToBatch(std::string_view key, std::string_view value) override { batch_.Add(key, value); }
  void WriteBatch() override {
    if (!failed()) {
      int code = WT_ROLLBACK;
      while (code == WT_ROLLBACK) code = CommitBatch();
      Written("write a batch", code);
    }
    batch_.Clear();
  }

  bool Get(std::string_view key, uint64_t* bytes) override {
    if (failed()) return false;
    const WT_ITEM wanted = AsItem(key);
    cursor_->set_key(cursor_, &wanted);
    int code = cursor_->search(cursor_);
    if (code == WT_NOTFOUND) return false;
    WT_ITEM value{};
    if (code == 0) code = cursor_->get_value(cursor_, &value);
    const bool found = Succeeded("get", code);
    if (found) *bytes += value.size;
    cursor_->reset(cursor_);  // lets go of the page
    return found;
  }

  // WiredTiger has no such call; its users write this loop.
  uint64_t MultiGet(std::span<const std::string_view> keys, uint64_t* bytes) override {
    uint64_t found = 0;
    for (std::string_view key : keys) found += Get(key, bytes);
    return found;
  }

  std::unique_ptr<Cursor> NewCursor() override {
    WT_CURSOR* cursor = nullptr;
    const int code = session_->open_cursor(session_, kTable, nullptr, nullptr, &cursor);
    if (code != 0) return std::make_unique<FailedCursor>(Error("open a cursor", code));
    return std::make_unique<WiredTigerCursor>(cursor);
  }

 private:
  int Insert(std::string_view key, std::string_view value) {
    const WT_ITEM key_item = AsItem(key);
    const WT_ITEM value_item = AsItem(value);
    cursor_->set_key(cursor_, &key_item);
    cursor_->set_value(cursor_, &value_item);
    return cursor_->insert(cursor_);  // or overwrites
  }

  // WT_ROLLBACK: another thread was writing the same key; nothing of the batch is there.
  int CommitBatch() {
    int code = session_->begin_transaction(session_, nullptr);
    if (code != 0) return code;
    code = batch_.ForEach(
        [this](std::string_view key, std::string_view value) { return Insert(key, value); });
    if (code == 0) return session_->commit_transaction(session_, nullptr);
    session_->rollback_transaction(session_, nullptr);
    return code;
  }

  bool Succeeded(std::string_view call, int code) {
    if (code != 0) Fail(Error(call, code));
    return code == 0;
  }
  void Written(std::string_view call, int code) {
    if (!Succeeded(call, code) || !sync_) return;
    Succeeded("sync the log", session_->log_flush(session_, "sync=on"));
  }

  WT_SESSION* const session_;
  WT_CURSOR* const cursor_;
  const bool sync_;
  EntryBatch batch_;
};

std::string ConnectionConfig(const EngineSettings& settings) {
  // One cache for what is read and for what is written, where the others have two.
  const uint64_t cache_bytes =
      std::max(kSmallestCache, settings.cache_bytes + settings.write_buffer_bytes);
  // A log file holds as much as a memtable's. None is made in advance: the disk space of a small
  // database would be that of empty logs.
  const uint64_t log_bytes =
      std::clamp(settings.write_buffer_bytes, kSmallestLogFile, kLargestLogFile);
  std::string config = absl::StrCat(
      "create,cache_size=", cache_bytes, ",session_max=", kMaxSessions,
      ",log=(enabled=true,prealloc=false,file_max=", log_bytes,
      "),transaction_sync=(enabled=true,method=none),checkpoint=(wait=60)",
      ",eviction=(threads_min=1,threads_max=", std::clamp(settings.background_threads, 1, 20), ")",
      ",statistics=(", settings.statistics ? "fast" : "none", ")");
#ifdef WINNOW_BENCH_WIREDTIGER_SNAPPY
  absl::StrAppend(&config, ",extensions=[\"", WINNOW_BENCH_WIREDTIGER_SNAPPY, "\"]");
#endif
  return config;
}

class WiredTigerEngine final : public Engine {
 public:
  WiredTigerEngine() = default;
  ~WiredTigerEngine() override { CloseConnection().IgnoreError(); }

  absl::Status Open(const EngineSettings& settings) {
    has_statistics_ = settings.statistics;
    const int opened = wiredtiger_open(settings.directory.c_str(), nullptr,
                                       ConnectionConfig(settings).c_str(), &connection_);
    if (opened != 0) return Error(absl::StrCat("open ", settings.directory), opened);
    // Pages of 32 KiB, its default: smaller ones halve its speed while its cache holds the data.
    const std::string table =
        absl::StrCat("key_format=u,value_format=u,block_compressor=", settings.compression);
    return WithSession("create the table", [&table](WT_SESSION* session) {
      return session->create(session, kTable, table.c_str());
    });
  }

  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionSettings& settings) override {
    if (settings.disable_wal) {
      return absl::UnimplementedError(
          "wiredtiger logs all writes of a database or none; leave out --disable_wal");
    }
    WT_SESSION* session = nullptr;
    int code = connection_->open_session(connection_, nullptr, nullptr, &session);
    if (code != 0) return Error("open a session", code);
    WT_CURSOR* cursor = nullptr;
    code = session->open_cursor(session, kTable, nullptr, nullptr, &cursor);
    if (code != 0) {
      session->close(session, nullptr);
      return Error("open a cursor", code);
    }
    return std::make_unique<WiredTigerSession>(session, cursor, settings.sync);
  }

  absl::Status Flush() override {
    return WithSession("checkpoint",
                       [](WT_SESSION* session) { return session->checkpoint(session, nullptr); });
  }
  absl::Status Compact() override {
    absl::Status flushed = Flush();
    if (!flushed.ok()) return flushed;
    return WithSession("compact", [](WT_SESSION* session) {
      return session->compact(session, kTable, "timeout=0");
    });
  }
  // A B-tree has none; pages are evicted when their room is wanted.
  absl::Status WaitForCompactions() override { return absl::OkStatus(); }

  EngineCounters Counters() override { return {}; }
  FilterShape Shape() override { return {}; }

  std::string StatsText() override {
    if (!has_statistics_) return "wiredtiger counts with --statistics only\n";
    std::string text;
    const absl::Status read = WithSession("read the statistics", [&text](WT_SESSION* session) {
      WT_CURSOR* cursor = nullptr;
      int code = session->open_cursor(session, "statistics:", nullptr, nullptr, &cursor);
      if (code != 0) return code;
      while ((code = cursor->next(cursor)) == 0) {
        const char* description = nullptr;
        const char* value = nullptr;
        code = cursor->get_value(cursor, &description, &value, nullptr);
        if (code != 0) break;
        absl::StrAppend(&text, description, ": ", value, "\n");
      }
      cursor->close(cursor);
      return code == WT_NOTFOUND ? 0 : code;
    });
    return read.ok() ? text : std::string(read.message());
  }
  std::string LevelsText() override { return "wiredtiger keeps one B-tree\n"; }

  absl::Status Close() override { return CloseConnection(); }

 private:
  template <typename Call>
  absl::Status WithSession(std::string_view what, const Call& call) {
    WT_SESSION* session = nullptr;
    const int opened = connection_->open_session(connection_, nullptr, nullptr, &session);
    if (opened != 0) return Error("open a session", opened);
    const int code = call(session);
    const int closed = session->close(session, nullptr);
    return AsStatus(what, code != 0 ? code : closed);
  }

  absl::Status CloseConnection() {
    if (connection_ == nullptr) return absl::OkStatus();
    const int code = connection_->close(connection_, nullptr);
    connection_ = nullptr;
    return AsStatus("close", code);
  }

  WT_CONNECTION* connection_ = nullptr;
  bool has_statistics_ = false;
};

std::string Title() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  wiredtiger_version(&major, &minor, &patch);
  return absl::StrCat("wiredtiger ", major, ".", minor, ".", patch,
                      " (B-tree; its cache is --cache_size and --write_buffer_size together; no "
                      "filters)");
}

bool Compresses(std::string_view compression) {
#ifdef WINNOW_BENCH_WIREDTIGER_SNAPPY
  if (compression == "snappy") return true;
#endif
  return compression == "none";
}

absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineSettings& settings) {
  if (settings.filter != "none") {
    return absl::UnimplementedError(
        absl::StrCat("wiredtiger's B-tree has no filters; leave out \"@", settings.filter, "\""));
  }
  if (!Compresses(settings.compression)) {
    return absl::UnimplementedError(
        absl::StrCat("this wiredtiger does not compress with ", settings.compression,
                     "; --compression_type=none runs with every engine"));
  }
  auto engine = std::make_unique<WiredTigerEngine>();
  absl::Status opened = engine->Open(settings);
  if (!opened.ok()) return opened;
  return engine;
}

absl::Status Destroy(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("WiredTiger") && name != kTableFile) continue;
    std::filesystem::remove(it->path(), error);
    if (error) break;
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("wiredtiger: clear ", directory, ": ", error.message()));
}

}  // namespace

const EngineFactory kWiredTigerFactory = {"wiredtiger", WritePath::kLog, Title, Destroy, Open};

}  // namespace winnow::bench
