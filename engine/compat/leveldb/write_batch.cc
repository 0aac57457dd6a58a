#include "leveldb/write_batch.h"

#include "engine/compat/leveldb/conversions.h"
#include "engine/compat/leveldb/write_batch_internal.h"

namespace leveldb {

WriteBatch::Handler::~Handler() = default;

WriteBatch::WriteBatch() : batch_(std::make_unique<winnow::WriteBatch>()) {}
WriteBatch::WriteBatch(const WriteBatch& other)
    : batch_(std::make_unique<winnow::WriteBatch>(*other.batch_)) {}
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
size_t WriteBatch::ApproximateSize() const { return batch_->size_bytes(); }
void WriteBatch::Append(const WriteBatch& source) { batch_->Append(*source.batch_); }

namespace {

class ForwardingHandler final : public winnow::WriteBatch::Handler {
 public:
  explicit ForwardingHandler(WriteBatch::Handler* handler) : handler_(handler) {}
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
  ForwardingHandler forwarding(handler);
  return ToStatus(batch_->ForEach(forwarding));
}

}  // namespace leveldb
