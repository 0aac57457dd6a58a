// LMDB, a B+-tree in one mapped file: commits without a sync, as the other engines write, and reads
// the newest commit at each call. Its memory is the system's page cache.
#include <lmdb.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/engine_factory.h"
#include "tools/winnow_bench/entry_batch.h"
#include "tools/winnow_bench/process.h"

namespace winnow::bench {
namespace {

// Address space; the file is sparse, and takes the pages that have been written.
constexpr size_t kMapBytes = size_t{1} << 40;
// A session has one, and each of its iterators; --threads is at most 1,024.
constexpr unsigned kMaxReaders = 4096;
constexpr mdb_mode_t kFileMode = 0644;
// MDB_WRITEMAP changes pages in place in the map, which is faster than writing them with system
// calls. MDB_NORDAHEAD: most benchmarks read at random. MDB_NOTLS: a session's readers belong to
// it, not to the thread that opened it.
constexpr unsigned kOpenFlags = MDB_WRITEMAP | MDB_NORDAHEAD | MDB_NOTLS | MDB_NOSYNC;

absl::Status Error(std::string_view call, int code) {
  return absl::UnavailableError(absl::StrCat("lmdb: ", absl::string_view(call.data(), call.size()),
                                             ": ", mdb_strerror(code)));
}

absl::Status AsStatus(std::string_view call, int code) {
  return code == MDB_SUCCESS ? absl::OkStatus() : Error(call, code);
}

MDB_val AsVal(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

std::string_view AsView(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

struct Store {
  MDB_env* env = nullptr;
  MDB_dbi table = 0;
};

// A read transaction with a cursor. It is kept and renewed rather than begun anew, which would
// search the table of readers under its lock.
class Reader {
 public:
  explicit Reader(const Store& store) : store_(store) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
    if (transaction_ != nullptr) mdb_txn_abort(transaction_);
  }

  // From here to Release() it sees what was committed before.
  int Renew() {
    return transaction_ == nullptr ? mdb_txn_begin(store_.env, nullptr, MDB_RDONLY, &transaction_)
                                   : mdb_txn_renew(transaction_);
  }
  // After Renew().
  int RenewCursor() {
    return cursor_ == nullptr ? mdb_cursor_open(transaction_, store_.table, &cursor_)
                              : mdb_cursor_renew(transaction_, cursor_);
  }
  void Release() { mdb_txn_reset(transaction_); }

  int Get(std::string_view key, MDB_val* value) {
    MDB_val wanted = AsVal(key);
    return mdb_get(transaction_, store_.table, &wanted, value);
  }
  MDB_cursor* cursor() { return cursor_; }

 private:
  const Store store_;
  MDB_txn* transaction_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
};

using ReaderPool = std::vector<std::unique_ptr<Reader>>;

// Where a cursor stands, with the five calls of WalkIterator.
class Position {
 public:
  void Move(MDB_cursor* cursor, MDB_cursor_op operation) {
    cursor_ = cursor;
    code_ = mdb_cursor_get(cursor_, &key_, &value_, operation);
  }
  void Seek(MDB_cursor* cursor, std::string_view key) {
    key_ = AsVal(key);
    Move(cursor, MDB_SET_RANGE);
  }
  bool Valid() const { return code_ == MDB_SUCCESS; }
  std::string_view key() const { return AsView(key_); }
  std::string_view value() const { return AsView(value_); }
  void Next() { Move(cursor_, MDB_NEXT); }
  void Prev() { Move(cursor_, MDB_PREV); }
  int code() const { return code_; }

 private:
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{};
  MDB_val value_{};
  int code_ = MDB_NOTFOUND;
};

class LmdbCursor final : public Cursor {
 public:
  // Its reader goes back to the pool, which outlives it.
  LmdbCursor(std::unique_ptr<Reader> reader, ReaderPool* pool)
      : pool_(pool), reader_(std::move(reader)) {
    code_ = reader_->Renew();
    if (code_ == MDB_SUCCESS) code_ = reader_->RenewCursor();
  }
  ~LmdbCursor() override {
    if (code_ != MDB_SUCCESS) return;  // what could not be renewed is not kept
    reader_->Release();
    pool_->push_back(std::move(reader_));
  }

  void SeekToFirst() override {
    if (code_ == MDB_SUCCESS) position_.Move(reader_->cursor(), MDB_FIRST);
  }
  void SeekToLast() override {
    if (code_ == MDB_SUCCESS) position_.Move(reader_->cursor(), MDB_LAST);
  }
  void Seek(std::string_view key) override {
    if (code_ == MDB_SUCCESS) position_.Seek(reader_->cursor(), key);
  }
  bool StandsOn(std::string_view key) override {
    return position_.Valid() && position_.key() == key;
  }
  uint64_t Walk(uint64_t max_entries, Direction direction, uint64_t* bytes) override {
    return WalkIterator(position_, max_entries, direction, bytes);
  }
  absl::Status status() override {
    if (code_ != MDB_SUCCESS) return Error("open a cursor", code_);
    return position_.code() == MDB_NOTFOUND ? absl::OkStatus() : AsStatus("read", position_.code());
  }

 private:
  ReaderPool* const pool_;
  std::unique_ptr<Reader> reader_;
  int code_ = MDB_SUCCESS;
  Position position_;
};

class LmdbSession final : public Session {
 public:
  explicit LmdbSession(const Store& store) : store_(store), reader_(store) {}

  void Put(std::string_view key, std::string_view value) override {
    Commit([&](MDB_txn* transaction) { return PutInto(transaction, key, value); });
  }
  void Delete(std::string_view key) override {
    Commit([&](MDB_txn* transaction) {
      MDB_val wanted = AsVal(key);
      const int code = mdb_del(transaction, store_.table, &wanted, nullptr);
      return code == MDB_NOTFOUND ? MDB_SUCCESS : code;
    });
  }
  void AddToBatch(std::string_view key, std::string_view value) override { batch_.Add(key, value); }
  void WriteBatch() override {
    Commit([&](MDB_txn* transaction) {
      return batch_.ForEach([&](std::string_view key, std::string_view value) {
        return PutInto(transaction, key, value);
      });
    });
    batch_.Clear();
  }

  bool Get(std::string_view key, uint64_t* bytes) override {
    return MultiGet({&key, 1}, bytes) == 1;
  }

  // LMDB has no such call; the keys share one transaction.
  uint64_t MultiGet(std::span<const std::string_view> keys, uint64_t* bytes) override {
    if (failed()) return 0;
    if (const int code = reader_.Renew(); code != MDB_SUCCESS) {
      Fail(Error("begin to read", code));
      return 0;
    }
    uint64_t found = 0;
    for (std::string_view key : keys) {
      MDB_val value;
      const int code = reader_.Get(key, &value);
      if (code == MDB_SUCCESS) {
        found++;
        *bytes += value.mv_size;
      } else if (code != MDB_NOTFOUND) {
        Fail(Error("get", code));
      }
    }
    reader_.Release();
    return found;
  }

  std::unique_ptr<Cursor> NewCursor() override {
    std::unique_ptr<Reader> reader;
    if (idle_readers_.empty()) {
      reader = std::make_unique<Reader>(store_);
    } else {
      reader = std::move(idle_readers_.back());
      idle_readers_.pop_back();
    }
    return std::make_unique<LmdbCursor>(std::move(reader), &idle_readers_);
  }

 private:
  int PutInto(MDB_txn* transaction, std::string_view key, std::string_view value) const {
    MDB_val key_val = AsVal(key);
    MDB_val value_val = AsVal(value);
    return mdb_put(transaction, store_.table, &key_val, &value_val, 0);
  }

  template <typename Change>
  void Commit(const Change& change) {
    if (failed()) return;
    MDB_txn* transaction = nullptr;
    if (const int code = mdb_txn_begin(store_.env, nullptr, 0, &transaction); code != MDB_SUCCESS) {
      return Fail(Error("begin to write", code));
    }
    if (const int code = change(transaction); code != MDB_SUCCESS) {
      mdb_txn_abort(transaction);
      return Fail(Error("write", code));
    }
    if (const int code = mdb_txn_commit(transaction); code != MDB_SUCCESS) {
      Fail(Error("commit", code));
    }
  }

  const Store store_;
  Reader reader_;
  ReaderPool idle_readers_;
  EntryBatch batch_;
};

class LmdbEngine final : public Engine {
 public:
  LmdbEngine() = default;
  ~LmdbEngine() override { CloseStore(); }

  absl::Status Open(const std::string& directory) {
    if (const int code = mdb_env_create(&store_.env); code != MDB_SUCCESS) {
      return Error("create an environment", code);
    }
    int code = mdb_env_set_mapsize(store_.env, kMapBytes);
    if (code == MDB_SUCCESS) code = mdb_env_set_maxreaders(store_.env, kMaxReaders);
    if (code == MDB_SUCCESS)
      code = mdb_env_open(store_.env, directory.c_str(), kOpenFlags, kFileMode);
    if (code != MDB_SUCCESS) return Error(absl::StrCat("open ", directory), code);
    MDB_txn* transaction = nullptr;
    code = mdb_txn_begin(store_.env, nullptr, 0, &transaction);
    if (code != MDB_SUCCESS) return Error("begin to write", code);
    code = mdb_dbi_open(transaction, nullptr, 0, &store_.table);
    if (code != MDB_SUCCESS) {
      mdb_txn_abort(transaction);
      return Error("open the table", code);
    }
    return AsStatus("commit", mdb_txn_commit(transaction));
  }

  // LMDB syncs for all writers or for none; the sessions of a benchmark all ask for the same. There
  // is no log to leave out, and there are no checksums.
  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionSettings& settings) override {
    const int code = mdb_env_set_flags(store_.env, MDB_NOSYNC, settings.sync ? 0 : 1);
    if (code != MDB_SUCCESS) return Error("set MDB_NOSYNC", code);
    return std::make_unique<LmdbSession>(store_);
  }

  absl::Status Flush() override { return AsStatus("sync", mdb_env_sync(store_.env, 1)); }
  // Its one tree is always in order.
  absl::Status Compact() override { return absl::OkStatus(); }
  absl::Status WaitForCompactions() override { return absl::OkStatus(); }

  EngineCounters Counters() override {
    EngineCounters counters;
    counters.bytes_written = ReadInputOutput().bytes_for_disk - bytes_at_open_;
    return counters;
  }
  FilterShape Shape() override { return {}; }

  std::string StatsText() override {
    MDB_envinfo info{};
    mdb_env_info(store_.env, &info);
    return absl::StrCat(LevelsText(), "last page ", info.me_last_pgno, ", last transaction ",
                        info.me_last_txnid, "\n");
  }
  std::string LevelsText() override {
    MDB_stat stat{};
    mdb_env_stat(store_.env, &stat);
    return absl::StrCat("B+-tree of depth ", stat.ms_depth, ", ", stat.ms_entries, " entries, ",
                        stat.ms_branch_pages, " branch, ", stat.ms_leaf_pages, " leaf and ",
                        stat.ms_overflow_pages, " overflow pages of ", stat.ms_psize, " bytes\n");
  }

  absl::Status Close() override {
    CloseStore();
    return absl::OkStatus();
  }

 private:
  void CloseStore() {
    if (store_.env != nullptr) mdb_env_close(store_.env);
    store_.env = nullptr;
  }

  Store store_;
  const uint64_t bytes_at_open_ = ReadInputOutput().bytes_for_disk;
};

std::string Title() {
  return absl::StrCat(
      "lmdb ", MDB_VERSION_MAJOR, ".", MDB_VERSION_MINOR, ".", MDB_VERSION_PATCH,
      " (in the page cache: --cache_size is not for it; no checksums, no compression, "
      "no filters, nothing to compact)");
}

absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineSettings& settings) {
  if (settings.filter != "none") {
    return absl::UnimplementedError(
        absl::StrCat("lmdb has no filters; leave out \"@", settings.filter, "\""));
  }
  auto engine = std::make_unique<LmdbEngine>();
  absl::Status opened = engine->Open(settings.directory);
  if (!opened.ok()) return opened;
  return engine;
}

absl::Status Destroy(const std::string& directory) {
  for (const char* name : {"data.mdb", "lock.mdb"}) {
    std::error_code error;
    std::filesystem::remove(std::filesystem::path(directory) / name, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("lmdb: remove ", directory, "/", name, ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const EngineFactory kLmdbFactory = {"lmdb", WritePath::kCopyOnWrite, Title, Destroy, Open};

}  // namespace winnow::bench
