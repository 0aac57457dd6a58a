// The benchmark replay: the calls that DB::StartTrace recorded, made again as quickly as the engine
// answers.
//
// All calls on a key are one thread's, in their order; between keys of different threads there is
// none. A thread's share is read before the clock starts.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/trace/trace_file.h"
#include "tools/winnow_bench/workload.h"
#include "winnow/file_system.h"
#include "winnow/filter/hash.h"

namespace winnow::bench {
namespace {

struct Call {
  TraceCall call;
  uint32_t key_bytes;
  uint64_t key_offset;  // in the keys of the thread, one behind the other
  uint64_t value_bytes;
};

class ReplayThread {
 public:
  explicit ReplayThread(Worker& worker) : worker_(worker) {}

  void Run() {
    if (absl::Status read = Read(worker_.config().replay); !read.ok()) {
      worker_.Fail(std::move(read));
      return;
    }
    worker_.StartClock();
    size_t next = 0;
    for (uint64_t i = 0; !calls_.empty(); i += Finish(&next)) {
      if (!worker_.Continues(i, calls_.size(), Worker::Limit::kUnlessTimed)) return;
      if (next == calls_.size()) next = 0;  // --duration: once more from the start
      Make(&next);
    }
  }

 private:
  absl::Status Read(const std::string& path) {
    WINNOW_ASSIGN_OR_RETURN(const auto trace, TraceReader::Open(*PosixFileSystem(), path));
    if (trace->header().keys_are_hashes) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " holds hashes of keys, which serve `winnow compare` and cannot be replayed"));
    }
    const auto threads = static_cast<uint64_t>(worker_.place().num_threads);
    const auto family = static_cast<uint64_t>(worker_.config().replay_family);
    bool any_of_family = false;
    TraceRecord record;
    for (;;) {
      WINNOW_ASSIGN_OR_RETURN(const bool more, trace->Next(&record));
      if (!more) break;
      if (record.family_id != family) continue;
      any_of_family = true;
      if (filter::HashKey(record.key, 0) % threads !=
          static_cast<uint64_t>(worker_.place().thread)) {
        continue;
      }
      calls_.push_back({record.call, static_cast<uint32_t>(record.key.size()), keys_.size(),
                        record.value_bytes});
      keys_.append(record.key);
    }
    if (any_of_family) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(path, " holds no calls of the column family of number ", family,
                     "; `winnow trace` counts those of each, and --replay_family chooses one"));
  }

  std::string_view KeyOf(const Call& call) const {
    return std::string_view(keys_).substr(call.key_offset, call.key_bytes);
  }

  // The call at `*next`, and with it those that MultiGet had together with it or close behind.
  void Make(size_t* next) {
    const Call& call = calls_[(*next)++];
    const std::string_view key = KeyOf(call);
    switch (call.call) {
      case TraceCall::kGet: {
        const bool found = worker_.session().Get(key, worker_.bytes());
        if (found) *worker_.bytes() += key.size();
        worker_.CountLookups(1, found);
        return;
      }
      case TraceCall::kMultiGet:
        return MakeMultiGet(key, next);
      case TraceCall::kSeek: {
        const std::unique_ptr<Cursor> cursor = worker_.session().NewCursor();
        cursor->Seek(key);
        worker_.CountLookups(1, cursor->StandsOn(key));
        cursor->Walk(static_cast<uint64_t>(worker_.config().seek_nexts), Direction::kForward,
                     worker_.bytes());
        if (absl::Status status = cursor->status(); !status.ok()) worker_.Fail(std::move(status));
        return;
      }
      case TraceCall::kDelete:
        worker_.CountWritten(key, "");
        worker_.session().Delete(key);
        return;
      case TraceCall::kPut:
      case TraceCall::kMerge: {
        // Of an operand the trace has the length and not what it meant.
        const std::string_view value = worker_.values().NextOf(call.value_bytes);
        worker_.CountWritten(key, value);
        worker_.session().Put(key, value);
        return;
      }
    }
  }

  void MakeMultiGet(std::string_view first, size_t* next) {
    batch_.assign(1, first);
    const auto most = static_cast<size_t>(worker_.config().multiread_batch);
    while (batch_.size() < most && *next < calls_.size() &&
           calls_[*next].call == TraceCall::kMultiGet) {
      batch_.push_back(KeyOf(calls_[(*next)++]));
    }
    worker_.CountLookups(batch_.size(), worker_.session().MultiGet(batch_, worker_.bytes()));
  }

  // Returns how many calls have been made since the last time.
  uint64_t Finish(const size_t* next) {
    const uint64_t made = *next - (finished_ == calls_.size() ? 0 : finished_);
    finished_ = *next;
    worker_.Finished(made);
    return made;
  }

  Worker& worker_;
  std::vector<Call> calls_;
  std::string keys_;
  std::vector<std::string_view> batch_;  // of one MultiGet
  size_t finished_ = 0;
};

}  // namespace

void Replay(Worker& worker) { ReplayThread(worker).Run(); }

}  // namespace winnow::bench
