// The run phase of YCSB on a database that a fill has loaded; --reads operations in each thread.
#include <string>

#include "tools/winnow_bench/workload.h"
#include "tools/winnow_bench/zipfian.h"

namespace winnow::bench {
namespace {

constexpr uint64_t kLongestScan = 100;

enum class Action { kUpdate, kInsert, kReadModifyWrite };
enum class Choice { kZipfian, kLatest };
enum class Look { kGet, kScan };

struct Mix {
  double look_share;  // the rest of the operations are of the `otherwise` kind
  Look look;
  Choice choice;
  Action otherwise;
};

class YcsbThread {
 public:
  YcsbThread(Worker& worker, const Mix& mix)
      : worker_(worker), mix_(mix), zipfian_(worker.config().num_keys()) {}

  void Run() {
    worker_.StartClock();  // the zipfian sum is made
    const uint64_t operations = worker_.config().num_reads();
    for (uint64_t i = 0; worker_.Continues(i, operations, Worker::Limit::kUnlessTimed); i++) {
      if (worker_.random().Fraction() < mix_.look_share) {
        if (mix_.look == Look::kGet) {
          Get(ChooseKey());
        } else {
          Scan(ChooseKey());
        }
      } else if (mix_.otherwise == Action::kInsert) {
        Insert();
      } else {
        const uint64_t chosen = ChooseKey();
        if (mix_.otherwise == Action::kReadModifyWrite) Get(chosen);
        Put(chosen);
      }
      worker_.Finished(1);
    }
  }

 private:
  // The threads' own inserts follow the loaded keys, thread by thread in turn.
  uint64_t InsertedKey(uint64_t index) const {
    return worker_.config().num_keys() + worker_.PositionOf(index);
  }

  uint64_t ChooseKey() {
    if (mix_.choice == Choice::kZipfian) return zipfian_.NextScattered(worker_.random());
    const uint64_t back = zipfian_.Next(worker_.random());
    if (back < num_inserted_) return InsertedKey(num_inserted_ - 1 - back);
    return worker_.config().num_keys() - 1 - (back - num_inserted_);
  }

  void Get(uint64_t index) {
    worker_.keys().Present(index, &key_);
    const bool found = worker_.session().Get(key_, worker_.bytes());
    if (found) *worker_.bytes() += key_.size();
    worker_.CountLookups(1, found);
  }

  void Put(uint64_t index) {
    worker_.keys().Present(index, &key_);
    const std::string_view value = worker_.values().Next();
    worker_.CountWritten(key_, value);
    worker_.session().Put(key_, value);
  }

  // Beyond as many inserts as there are keys, earlier ones are written again: key_size has room
  // for no more.
  void Insert() {
    const uint64_t room = worker_.ShareOf(worker_.config().num_keys());
    if (num_inserted_ < room) {
      Put(InsertedKey(num_inserted_++));
    } else {
      Put(room == 0 ? ChooseKey() : InsertedKey(worker_.random().Below(room)));
    }
  }

  void Scan(uint64_t index) {
    worker_.keys().Present(index, &key_);
    std::unique_ptr<Cursor> cursor = worker_.session().NewCursor();
    cursor->Seek(key_);
    worker_.CountLookups(1, cursor->StandsOn(key_));
    cursor->Walk(1 + worker_.random().Below(kLongestScan), Direction::kForward, worker_.bytes());
    if (absl::Status status = cursor->status(); !status.ok()) worker_.Fail(status);
  }

  Worker& worker_;
  const Mix mix_;
  const Zipfian zipfian_;
  uint64_t num_inserted_ = 0;
  std::string key_;
};

void RunMix(Worker& worker, const Mix& mix) { YcsbThread(worker, mix).Run(); }

}  // namespace

void RunYcsbA(Worker& worker) {
  RunMix(worker, {0.5, Look::kGet, Choice::kZipfian, Action::kUpdate});
}
void RunYcsbB(Worker& worker) {
  RunMix(worker, {0.95, Look::kGet, Choice::kZipfian, Action::kUpdate});
}
void RunYcsbC(Worker& worker) {
  RunMix(worker, {1, Look::kGet, Choice::kZipfian, Action::kUpdate});
}
void RunYcsbD(Worker& worker) {
  RunMix(worker, {0.95, Look::kGet, Choice::kLatest, Action::kInsert});
}
void RunYcsbE(Worker& worker) {
  RunMix(worker, {0.95, Look::kScan, Choice::kZipfian, Action::kInsert});
}
void RunYcsbF(Worker& worker) {
  RunMix(worker, {0.5, Look::kGet, Choice::kZipfian, Action::kReadModifyWrite});
}

}  // namespace winnow::bench
