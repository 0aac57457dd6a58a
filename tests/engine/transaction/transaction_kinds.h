// Both modes of transactions, each with a snapshot of its beginning and without: for tests that
// hold for all four.
#ifndef WINNOW_TESTS_ENGINE_TRANSACTION_TRANSACTION_KINDS_H_
#define WINNOW_TESTS_ENGINE_TRANSACTION_TRANSACTION_KINDS_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "winnow/transaction.h"

namespace winnow {

struct TransactionKind {
  TransactionOptions::Mode mode;
  bool snapshot_at_begin;

  TransactionOptions Options() const {
    TransactionOptions options;
    options.mode = mode;
    options.snapshot_at_begin = snapshot_at_begin;
    return options;
  }
};

inline constexpr TransactionKind kTransactionKinds[] = {
    {TransactionOptions::Mode::kOptimistic, true},
    {TransactionOptions::Mode::kOptimistic, false},
    {TransactionOptions::Mode::kPessimistic, true},
    {TransactionOptions::Mode::kPessimistic, false}};

inline std::string NameOfKind(const testing::TestParamInfo<TransactionKind>& info) {
  const bool is_optimistic = info.param.mode == TransactionOptions::Mode::kOptimistic;
  return absl::StrCat(is_optimistic ? "Optimistic" : "Pessimistic",
                      info.param.snapshot_at_begin ? "AtBegin" : "Present");
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_TRANSACTION_TRANSACTION_KINDS_H_
