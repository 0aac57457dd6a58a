#include "leveldb/iterator.h"

namespace leveldb {

struct Iterator::Cleanup {
  CleanupFunction function;
  void* arg1;
  void* arg2;
  Cleanup* next;
};

Iterator::Iterator() = default;

Iterator::~Iterator() {
  while (cleanups_ != nullptr) {
    Cleanup* const cleanup = cleanups_;
    cleanups_ = cleanup->next;
    cleanup->function(cleanup->arg1, cleanup->arg2);
    delete cleanup;
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
  cleanups_ = new Cleanup{function, arg1, arg2, cleanups_};
}

namespace {

class EmptyIterator final : public Iterator {
 public:
  explicit EmptyIterator(const Status& status) : status_(status) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice&) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return Slice(); }
  Slice value() const override { return Slice(); }
  Status status() const override { return status_; }

 private:
  const Status status_;
};

}  // namespace

Iterator* NewEmptyIterator() { return new EmptyIterator(Status::OK()); }
Iterator* NewErrorIterator(const Status& status) { return new EmptyIterator(status); }

}  // namespace leveldb
