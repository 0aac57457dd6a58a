#include "leveldb/write_batch.h"

#include "engine/compat/leveldb/conversions.h"
#include "engine/compat/leveldb/write_batch_internal.h"

namespace leveldb {

WriteBatch::Handler::~Handler() = default;

// Behind a pointer, so that the public header needs nothing of Winnow's. A batch is Winnow's from
// the first update on: LevelDB's format of batches is nowhere kept.
WriteBatch::WriteBatch() : batch_(std::make_unique<winnow::WriteBatch>()) {}
WriteBatch::WriteBatch(const WriteBatch& other)
    : batch_(std::make_unique<winnow::WriteBatch>(*other.batch_)) {}
// Copies the updates; the two batches share nothing afterwards.
WriteBatch& WriteBatch::operator=(const WriteBatch& other) {
  if (this != &other) *batch_ = *other.batch_;
  return *this;
}
WriteBatch::~WriteBatch() = default;

void WriteBatch::Put(const Slice& key, const Slice& value) {
  batch_->Put(ToView(key), ToView(value));
}
void WriteBatch::Delete(const Slice& key) { batch_->Delete(ToView(key)); }
void WriteBatch::Clear() { batch_->Clear(); }
// In Winnow's form, whose overhead for each update differs a little from LevelDB's.
size_t WriteBatch::ApproximateSize() const { return batch_->size_bytes(); }
// Behind these updates: of two that concern one key the source's wins.
void WriteBatch::Append(const WriteBatch& source) { batch_->Append(*source.batch_); }

namespace {

class ForwardingHandler final : public winnow::WriteBatch::Handler {
 public:
  explicit ForwardingHandler(WriteBatch::Handler* handler) : handler_(handler) {}
  // LevelDB has no column families: whatever was put here went to the default one. Neither has it
  // merges and range deletions, which nobody can add to a batch of its.
  absl::Status Put(uint32_t, std::string_view key, std::string_view value) override {
    handler_->Put(ToSlice(key), ToSlice(value));
    return absl::OkStatus();
  }
  absl::Status Delete(uint32_t, std::string_view key) override {
    handler_->Delete(ToSlice(key));
    return absl::OkStatus();
  }

 private:
  WriteBatch::Handler* const handler_;
};

}  // namespace

Status WriteBatch::Iterate(Handler* handler) const {
  // Lives for this call only: the handler need not outlive it.
  ForwardingHandler forwarding(handler);
  return ToStatus(batch_->ForEach(forwarding));
}

}  // namespace leveldb
