// Merge operators and operands in C.
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/compat/c_handles.h"
#include "filter/base/out_of_memory.h"
#include "winnow/merge_operator.h"

using winnow::BytesOf;
using winnow::NullIfOutOfMemory;
using winnow::ReportToC;

struct winnow_mergeoperator_t {
  std::shared_ptr<const winnow::MergeOperator> merge_operator;
};

namespace winnow {
namespace {

using FullFunction = char* (*)(void*, const char*, size_t, const char*, size_t, const char* const*,
                               const size_t*, int, uint8_t*, size_t*);
using PartialFunction = char* (*)(void*, const char*, size_t, const char* const*, const size_t*,
                                  int, uint8_t*, size_t*);

// Operands as C takes them: as many as an int counts.
struct OperandArrays {
  explicit OperandArrays(std::span<const std::string_view> operands) {
    bytes.reserve(operands.size());
    lengths.reserve(operands.size());
    for (const std::string_view operand : operands) {
      bytes.push_back(operand.data());
      lengths.push_back(operand.size());
    }
  }
  static bool Fit(std::span<const std::string_view> operands) {
    return operands.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  }

  std::vector<const char*> bytes;
  std::vector<size_t> lengths;
};

// An operator is asked by readers, flushes and compactions, at once. What runs out of memory here
// throws: the store catches it where the request ends.
class CallbackMergeOperator final : public MergeOperator {
 public:
  CallbackMergeOperator(void* state, void (*destructor)(void*), FullFunction full,
                        PartialFunction partial, std::string name)
      : state_(state, destructor), full_(full), partial_(partial), name_(std::move(name)) {}

  std::string_view Name() const override { return name_; }

  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    // The callback counts by int. Fewer operands would make another value.
    if (!OperandArrays::Fit(operands)) return absl::ResourceExhaustedError("too many operands");
    const OperandArrays arrays(operands);
    // An existing value of length 0 is not NULL.
    const char* const value = !existing.has_value() ? nullptr
                              : existing->empty()   ? ""
                                                    : existing->data();
    uint8_t success = 1;
    size_t length = 0;
    char* const bytes =
        full_(state_.get(), key.data(), key.size(), value,
              existing.has_value() ? existing->size() : 0, arrays.bytes.data(),
              arrays.lengths.data(), static_cast<int>(operands.size()), &success, &length);
    if (Take(bytes, length, success, result)) return absl::OkStatus();
    // The store puts key and operator in front, and makes FailedPrecondition of whatever code it
    // is.
    return absl::UnknownError("the callback full_merge has failed");
  }

  // False is always right: the operands stay apart, and wait for a full merge.
  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    if (partial_ == nullptr || !OperandArrays::Fit(operands)) return false;
    const OperandArrays arrays(operands);
    uint8_t success = 1;
    size_t length = 0;
    char* const bytes =
        partial_(state_.get(), key.data(), key.size(), arrays.bytes.data(), arrays.lengths.data(),
                 static_cast<int>(operands.size()), &success, &length);
    return Take(bytes, length, success, result);
  }

 private:
  // The callback's malloc, given back with the free of the same C library.
  static bool Take(char* bytes, size_t length, uint8_t success, std::string* result) {
    // Before the append, which may throw.
    const std::unique_ptr<char, void (*)(void*)> owned(bytes, std::free);
    if (success == 0 || bytes == nullptr) return false;
    result->append(bytes, length);
    return true;
  }

  const CallbackState state_;
  const FullFunction full_;
  const PartialFunction partial_;
  const std::string name_;
};

}  // namespace
}  // namespace winnow

// The handle is made first and what owns the state last: where there is no memory the state stays
// the caller's.
winnow_mergeoperator_t* winnow_mergeoperator_create(
    void* state, void (*destructor)(void*),
    char* (*full_merge)(void*, const char*, size_t, const char*, size_t, const char* const*,
                        const size_t*, int, uint8_t*, size_t*),
    char* (*partial_merge)(void*, const char*, size_t, const char* const*, const size_t*, int,
                           uint8_t*, size_t*),
    const char* (*name)(void*)) {
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_mergeoperator_t>();
    handle->merge_operator = std::make_shared<const winnow::CallbackMergeOperator>(
        state, destructor, full_merge, partial_merge, std::string(name(state)));
    return handle.release();
  });
}

void winnow_mergeoperator_destroy(winnow_mergeoperator_t* merge_operator) { delete merge_operator; }

void winnow_options_set_merge_operator(winnow_options_t* options,
                                       winnow_mergeoperator_t* merge_operator) {
  options->options.merge_operator =
      merge_operator == nullptr ? nullptr : merge_operator->merge_operator;
}

void winnow_merge(winnow_t* db, const winnow_writeoptions_t* options, const char* key,
                  size_t keylen, const char* operand, size_t operandlen, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_merge_cf(db, options, &family, key, keylen, operand, operandlen, errptr);
}

void winnow_merge_cf(winnow_t* db, const winnow_writeoptions_t* options,
                     winnow_columnfamily_t* family, const char* key, size_t keylen,
                     const char* operand, size_t operandlen, char** errptr) {
  // What LevelDB's function could not report is reported here, as by every write.
  if (!ReportToC(db->compact_range_error.Get(), errptr)) return;
  ReportToC(db->db->Merge(options->options, family->family, BytesOf(key, keylen),
                          BytesOf(operand, operandlen)),
            errptr);
}

// As the other updates of a batch (c_iterators.cc): without an errptr, so that the write refuses
// what is incomplete.
void winnow_writebatch_merge(winnow_writebatch_t* batch, const char* key, size_t klen,
                             const char* operand, size_t operandlen) {
  const bool had_memory = winnow::UnlessOutOfMemory(
      [&] { batch->batch.Merge(BytesOf(key, klen), BytesOf(operand, operandlen)); });
  if (!had_memory) batch->is_incomplete = true;
}

void winnow_writebatch_merge_cf(winnow_writebatch_t* batch, const winnow_columnfamily_t* family,
                                const char* key, size_t klen, const char* operand,
                                size_t operandlen) {
  const bool had_memory = winnow::UnlessOutOfMemory([&] {
    batch->batch.Merge(family->family, BytesOf(key, klen), BytesOf(operand, operandlen));
  });
  if (!had_memory) batch->is_incomplete = true;
}

void winnow_sstwriter_merge(winnow_sstwriter_t* writer, const char* key, size_t keylen,
                            const char* operand, size_t operandlen, char** errptr) {
  ReportToC(writer->writer->Merge(BytesOf(key, keylen), BytesOf(operand, operandlen)), errptr);
}
