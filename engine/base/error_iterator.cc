#include "engine/base/error_iterator.h"

#include <new>
#include <string_view>
#include <utility>

#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// NewIterator never returns null, so that a caller has one place to look for errors.
class ErrorIterator : public Iterator {
 public:
  explicit ErrorIterator(absl::Status status) : status_(std::move(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void SeekForPrev(std::string_view) override {}
  void Next() override {}
  void Prev() override {}
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  absl::Status Refresh() override { return status_; }
  absl::Status status() const override { return status_; }

 private:
  const absl::Status status_;
};

// One for all, where there is no memory for one of its own: deleting it does nothing.
class OutOfMemoryIterator final : public ErrorIterator {
 public:
  OutOfMemoryIterator() : ErrorIterator(OutOfMemory()) {}
  static void operator delete(OutOfMemoryIterator* /*iterator*/, std::destroying_delete_t) {}
};

}  // namespace

std::unique_ptr<Iterator> NewErrorIterator(absl::Status status) {
  return std::make_unique<ErrorIterator>(std::move(status));
}

std::unique_ptr<Iterator> NewOutOfMemoryIterator() {
  // Threads share it: no call changes anything in it. Its status was made when the program started.
  static OutOfMemoryIterator iterator;
  return std::unique_ptr<Iterator>(&iterator);
}

}  // namespace winnow
