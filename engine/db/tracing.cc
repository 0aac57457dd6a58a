// Recording of calls: DB::StartTrace.
//
// Everything here is best effort: a call does not fail for its record, and without a trace it pays
// one load (TraceRecorder::is_on). The format is in engine/trace/FORMAT.md.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/status.h"
#include "engine/base/write_time.h"
#include "engine/db/database_directory.h"
#include "engine/db/db_impl.h"
#include "engine/write/batch_format.h"
#include "filter/base/out_of_memory.h"
#include "winnow/filter/hash.h"

namespace winnow {

namespace {

// Passes everything on, and tells of seeks.
class TracedIterator final : public Iterator {
 public:
  TracedIterator(std::unique_ptr<Iterator> iterator, std::function<void(std::string_view)> on_seek)
      : iterator_(std::move(iterator)), on_seek_(std::move(on_seek)) {}

  bool Valid() const override { return iterator_->Valid(); }
  void SeekToFirst() override {
    // Where the walk begins as far as a trace can say it: no key is less than the empty one in the
    // order of bytes.
    on_seek_("");
    iterator_->SeekToFirst();
  }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(std::string_view key) override {
    on_seek_(key);
    iterator_->Seek(key);
  }
  void SeekForPrev(std::string_view key) override {
    on_seek_(key);
    iterator_->SeekForPrev(key);
  }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  std::string_view key() const override { return iterator_->key(); }
  std::string_view value() const override { return iterator_->value(); }
  absl::Status Refresh() override { return iterator_->Refresh(); }
  absl::Status status() const override { return iterator_->status(); }

 private:
  const std::unique_ptr<Iterator> iterator_;
  const std::function<void(std::string_view)> on_seek_;
};

std::optional<TraceCall> CallOf(EntryType type) {
  if (IsPut(type)) return TraceCall::kPut;
  if (type == EntryType::kDelete) return TraceCall::kDelete;
  if (type == EntryType::kMerge) return TraceCall::kMerge;
  return std::nullopt;  // a range has no key that a filter could be asked for
}

}  // namespace

absl::Status DBImpl::StartTrace(const TraceOptions& options, const std::string& path) {
  return CatchOutOfMemory([&] {
    WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
    // Under a name of the database's own files the next of those would be written over it.
    WINNOW_RETURN_IF_ERROR(CheckNewFile(*file_system_, path));
    return trace_.Start(options, file_system_, path, versions_.hash_seed());
  });
}

absl::StatusOr<TraceInfo> DBImpl::EndTrace() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TraceInfo> {
    WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
    return trace_.End();
  });
}

// By the filter key that the present view asks with, as a look-up would.
void DBImpl::TraceKey(TraceCall call, ColumnFamily* family, std::string_view key) {
  UnlessOutOfMemory([&] {
    TraceRecord record;
    record.call = call;
    record.family_id = family->id();
    const ViewGuard view(Own(family)->views);
    record.key_hash = view->MakeLookupKey(key, 0).filter_hash;
    const std::string part =
        trace_.wants_parts() ? view->extractor.lookup_part().ToString() : std::string();
    // Which decides whether the key is one of those that are recorded, and keeps the hash or the
    // key.
    trace_.Add(record, key, part);
  });
}

void DBImpl::TraceBatch(const WriteBatch& batch) {
  UnlessOutOfMemory([&] {
    // The batch has been written by now: what is read here the leader or the builder of the batch
    // has checked.
    BatchReader reader(batch.encoded());
    BatchUpdate update;
    bool more = true;
    while (reader.Next(&update, &more).ok() && more) {
      const std::optional<TraceCall> call = CallOf(update.type);
      if (!call.has_value()) {
        trace_.CountNotRecorded();
        continue;
      }
      TraceRecord record;
      record.call = *call;
      record.family_id = update.family_id;
      record.value_bytes = update.type == EntryType::kPutWithTime
                               ? WithoutWriteTime(update.value).size()
                               : update.value.size();
      // Of the whole key, whatever the family's filters are made of: FORMAT.md says so of writes.
      record.key_hash = filter::HashKey(update.key, versions_.hash_seed());
      trace_.Add(record, update.key, /*hashed_part=*/"");
    }
  });
}

std::unique_ptr<Iterator> DBImpl::Traced(std::unique_ptr<Iterator> iterator, ColumnFamily* family) {
  return std::make_unique<TracedIterator>(
      std::move(iterator),
      [this, family](std::string_view key) { TraceKey(TraceCall::kSeek, family, key); });
}

}  // namespace winnow
