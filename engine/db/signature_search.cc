#include "engine/db/signature_search.h"

#include <utility>

#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

SignatureSearch::SignatureSearch(std::shared_ptr<const ReadView> view, GroupQuestion question,
                                 Recorder* recorder, EventQueue* events)
    : view_(std::move(view)),
      recorder_(*recorder),
      events_(*events),
      search_(std::make_shared<const GroupQuestion>(std::move(question)), &findings_) {
  findings_.on_refused = [this](const absl::Status& why) {
    num_refused_++;
    events_.AddIfCorruption(why);
  };
}

SignatureSearch::~SignatureSearch() {
  ThreadCounters& counters = recorder_.Local();
  counters.Add(Ticker::kSignatureRowsAsked, findings_.signatures_asked);
  counters.Add(Ticker::kSignaturesRefused, num_refused_);
  ReadCounters& all = counters.reads();
  all.data_blocks_read.Add(reads_.data_blocks_read.value());
  all.index_blocks_read.Add(reads_.index_blocks_read.value());
  all.signature_blocks_read.Add(reads_.signature_blocks_read.value());
  all.bytes_read.Add(reads_.bytes_read.value());
  all.block_cache_hits.Add(reads_.block_cache_hits.value());
  all.block_cache_misses.Add(reads_.block_cache_misses.value());
  all.block_load_waits.Add(reads_.block_load_waits.value());
  events_.AddIfCorruption(status());
}

bool SignatureSearch::Start(const SstableReadOptions& options) {
  SstableReadOptions counted = options;
  counted.counters = &reads_;
  if (!search_.AddFiles(*view_->version, counted)) return false;
  if (!view_->active->empty()) search_.AddEntries(view_->active->NewIterator());
  for (const auto& memtable : view_->immutables) search_.AddEntries(memtable->NewIterator());
  recorder_.Local().Add(Ticker::kSignatureScans, 1);
  return true;
}

// Everything that is there now, whatever number it has: a reader with a snapshot that was taken
// before finds among the groups all that it may see. Range deletions take entries away alone.
absl::StatusOr<std::unique_ptr<SignatureSearch>> DBImpl::SearchSignatures(
    const ReadOptions& options, ColumnFamily* family, GroupQuestion question) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<SignatureSearch>> {
    WINNOW_RETURN_IF_ERROR(CheckRead(options, family, ""));
    ColumnFamilyState* const own = Own(family);
    question.parser = own->signed_entry_parser();
    if (question.parser == nullptr) return std::unique_ptr<SignatureSearch>();
    auto search = std::make_unique<SignatureSearch>(own->views.Shared(), std::move(question),
                                                    &recorder_, &events_);
    SstableReadOptions read;
    read.verify_checksums = options.verify_checksums;
    read.fill_cache = options.fill_cache;
    if (!search->Start(read)) return std::unique_ptr<SignatureSearch>();
    return search;
  });
}

}  // namespace winnow
