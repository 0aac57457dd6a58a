#include "leveldb/iterator.h"

namespace leveldb {

// A list that is allocated as it grows: nearly all iterators have none, and pay for one pointer.
struct Iterator::Cleanup {
  CleanupFunction function;
  void* arg1;
  void* arg2;
  Cleanup* next;
};

Iterator::Iterator() = default;

// The function registered last runs first, as with destructors. They run after those of derived
// classes: what the iterator showed is not in use any more when its owner frees it.
Iterator::~Iterator() {
  while (cleanups_ != nullptr) {
    Cleanup* const cleanup = cleanups_;
    cleanups_ = cleanup->next;
    cleanup->function(cleanup->arg1, cleanup->arg2);
    delete cleanup;
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
  // No limit, and no way to take one back.
  cleanups_ = new Cleanup{function, arg1, arg2, cleanups_};
}

namespace {

// Never valid, so that key and value are never asked for by a program that keeps the rules.
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

// The caller's to delete, like every iterator.
Iterator* NewEmptyIterator() { return new EmptyIterator(Status::OK()); }
Iterator* NewErrorIterator(const Status& status) { return new EmptyIterator(status); }

}  // namespace leveldb
