// The calls that LevelDB has and RocksDB took over from it: the part that their engines share.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PEER_SESSION_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PEER_SESSION_H_

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/engine.h"

namespace winnow::bench {

// `Api` names the engine (kName) and its types: Database, Iterator, Slice, Status, WriteBatch,
// ReadOptions, WriteOptions.

template <typename Api>
typename Api::Slice AsSlice(std::string_view text) {
  return {text.data(), text.size()};
}

template <typename Api>
absl::Status AsStatus(const typename Api::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(Api::kName, ": ", status.ToString()));
}

template <typename Api>
class PeerCursor : public Cursor {
 public:
  explicit PeerCursor(typename Api::Iterator* iterator) : iterator_(iterator) {}
  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(std::string_view key) override { iterator_->Seek(AsSlice<Api>(key)); }
  bool StandsOn(std::string_view key) override {
    return iterator_->Valid() && iterator_->key() == AsSlice<Api>(key);
  }
  uint64_t Walk(uint64_t max_entries, Direction direction, uint64_t* bytes) override {
    return WalkIterator(*iterator_, max_entries, direction, bytes);
  }
  absl::Status status() override { return AsStatus<Api>(iterator_->status()); }

 private:
  const std::unique_ptr<typename Api::Iterator> iterator_;
};

// All calls but the look-ups, for which each engine has its own cheapest way.
template <typename Api>
class PeerSession : public Session {
 public:
  void Put(std::string_view key, std::string_view value) final {
    if (!failed()) Check(db_->Put(write_options_, AsSlice<Api>(key), AsSlice<Api>(value)));
  }
  void Delete(std::string_view key) final {
    if (!failed()) Check(db_->Delete(write_options_, AsSlice<Api>(key)));
  }
  void AddToBatch(std::string_view key, std::string_view value) final {
    const typename Api::Slice key_slice = AsSlice<Api>(key);
    const typename Api::Slice value_slice = AsSlice<Api>(value);
    if constexpr (std::is_void_v<decltype(batch_.Put(key_slice, value_slice))>) {
      batch_.Put(key_slice, value_slice);
    } else {
      Check(batch_.Put(key_slice, value_slice));
    }
  }
  void WriteBatch() final {
    if (!failed()) Check(db_->Write(write_options_, &batch_));
    batch_.Clear();
  }
  std::unique_ptr<Cursor> NewCursor() final {
    return std::make_unique<PeerCursor<Api>>(db_->NewIterator(read_options_));
  }

 protected:
  PeerSession(typename Api::Database* db, const SessionSettings& settings) : db_(db) {
    write_options_.sync = settings.sync;
    read_options_.verify_checksums = settings.verify_checksums;
  }

  void Check(const typename Api::Status& status) {
    if (!status.ok()) Fail(AsStatus<Api>(status));
  }
  // Whether a look-up that ended with `status` found its key, with `value`; an error is kept.
  template <typename Value>
  bool Found(const typename Api::Status& status, const Value& value, uint64_t* bytes) {
    if (status.ok()) {
      *bytes += value.size();
      return true;
    }
    if (!status.IsNotFound()) Check(status);
    return false;
  }

  typename Api::Database* const db_;
  typename Api::WriteOptions write_options_;
  typename Api::ReadOptions read_options_;

 private:
  typename Api::WriteBatch batch_;
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PEER_SESSION_H_
