// The C API's calls for transactions.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

class CApiTransactions : public CApiTest {
 protected:
  winnow_transaction_t* Begin() {
    winnow_transaction_t* transaction = winnow_begin_transaction(db_, settings_, &err_);
    EXPECT_NE(transaction, nullptr) << err_;
    return transaction;
  }
  void PutIn(winnow_transaction_t* transaction, const std::string& key, const std::string& value) {
    winnow_transaction_put(transaction, nullptr, key.data(), key.size(), value.data(), value.size(),
                           &err_);
  }
  std::string GetIn(winnow_transaction_t* transaction, const std::string& key, bool for_update) {
    size_t length = 0;
    char* value = for_update
                      ? winnow_transaction_get_for_update(transaction, read_, nullptr, key.data(),
                                                          key.size(), &length, &err_)
                      : winnow_transaction_get(transaction, read_, nullptr, key.data(), key.size(),
                                               &length, &err_);
    const std::string result = value == nullptr ? "absent" : std::string(value, length);
    winnow_free(value);
    return result;
  }

  winnow_transactionoptions_t* settings_ = winnow_transactionoptions_create();
  winnow_writeoptions_t* commit_ = winnow_writeoptions_create();
  ~CApiTransactions() override {
    winnow_transactionoptions_destroy(settings_);
    winnow_writeoptions_destroy(commit_);
  }
};

TEST_F(CApiTransactions, CommitOrLeaveNothing) {
  for (const uint8_t pessimistic : {0, 1}) {
    winnow_transactionoptions_set_pessimistic(settings_, pessimistic);
    Put("a", "0");
    winnow_transaction_t* transaction = Begin();
    PutIn(transaction, "a", "1");
    winnow_transaction_set_savepoint(transaction, &err_);
    winnow_transaction_delete(transaction, nullptr, "a", 1, &err_);
    EXPECT_EQ(GetIn(transaction, "a", false), "absent");
    winnow_transaction_rollback_to_savepoint(transaction, &err_);
    EXPECT_EQ(GetIn(transaction, "a", true), "1");
    winnow_iterator_t* it = winnow_transaction_create_iterator(transaction, read_, nullptr);
    winnow_iter_seek_to_first(it);
    EXPECT_EQ(winnow_iter_valid(it), 1);
    size_t length = 0;
    const char* value = winnow_iter_value(it, &length);
    EXPECT_EQ(std::string(value, length), "1");
    winnow_iter_destroy(it);
    EXPECT_EQ(Get("a"), "0");
    winnow_transaction_commit(transaction, commit_, &err_);
    EXPECT_EQ(TakeError(), "");
    EXPECT_EQ(Get("a"), "1");
    PutIn(transaction, "a", "2");
    EXPECT_NE(TakeError(), "") << "it is over";
    winnow_transaction_destroy(transaction);

    transaction = Begin();
    PutIn(transaction, "a", "3");
    winnow_transaction_rollback(transaction, &err_);
    winnow_transaction_destroy(transaction);
    winnow_transaction_destroy(Begin());
    EXPECT_EQ(TakeError(), "");
    EXPECT_EQ(Get("a"), "1");
  }
}

TEST_F(CApiTransactions, RangesAreDeletedAndManyKeysReadAtOnce) {
  for (const uint8_t pessimistic : {0, 1}) {
    winnow_transactionoptions_set_pessimistic(settings_, pessimistic);
    Put("a", "0");
    Put("b", "0");
    Put("c", "0");
    winnow_transaction_t* transaction = Begin();
    PutIn(transaction, "a", "1");
    winnow_transaction_set_savepoint(transaction, &err_);
    winnow_transaction_delete_range(transaction, nullptr, "a", 1, "c", 1, &err_);
    winnow_transaction_pop_savepoint(transaction, &err_);
    PutIn(transaction, "b", "1");
    EXPECT_EQ(TakeError(), "");
    winnow_transaction_rollback_to_savepoint(transaction, &err_);
    EXPECT_NE(TakeError(), "") << "it is gone";
    const std::array<const char*, 3> keys = {"a", "b", "c"};
    const std::array<size_t, 3> lengths = {1, 1, 1};
    std::array<char*, 3> values;
    std::array<size_t, 3> value_lengths;
    std::array<char*, 3> errors;
    winnow_transaction_multi_get(transaction, read_, nullptr, 3, keys.data(), lengths.data(),
                                 values.data(), value_lengths.data(), errors.data());
    EXPECT_EQ(values[0], nullptr);
    EXPECT_EQ(std::string(values[1], value_lengths[1]), "1");
    EXPECT_EQ(std::string(values[2], value_lengths[2]), "0");
    for (const char* error : errors) EXPECT_EQ(error, nullptr);
    for (char* value : values) winnow_free(value);
    winnow_transaction_delete_range(transaction, nullptr, "c", 1, "a", 1, &err_);
    EXPECT_TRUE(TakeError().starts_with("Invalid argument: "));
    winnow_transaction_commit(transaction, commit_, &err_);
    EXPECT_EQ(TakeError(), "");
    winnow_transaction_destroy(transaction);
    EXPECT_EQ(Get("a"), "absent");
    EXPECT_EQ(Get("b"), "1");

    transaction = Begin();
    winnow_transaction_delete_range(transaction, nullptr, "a", 1, "c", 1, &err_);
    Put("aa", "another's");
    winnow_transaction_commit(transaction, commit_, &err_);
    EXPECT_NE(TakeError().find("the range from \"a\" to before \"c\""), std::string::npos);
    EXPECT_EQ(winnow_transaction_is_conflict(transaction), 1);
    winnow_transaction_destroy(transaction);
  }
}

TEST_F(CApiTransactions, ConflictsAreToldFromOtherErrors) {
  winnow_transaction_t* transaction = Begin();
  EXPECT_EQ(GetIn(transaction, "a", true), "absent");
  PutIn(transaction, "b", "1");
  winnow_transaction_merge(transaction, nullptr, "b", 1, "1", 1, &err_);
  EXPECT_NE(TakeError(), "") << "there is no merge operator";
  EXPECT_EQ(winnow_transaction_is_conflict(transaction), 0);
  Put("a", "another's");
  winnow_transaction_commit(transaction, commit_, &err_);
  EXPECT_NE(TakeError().find("key \"a\""), std::string::npos);
  EXPECT_EQ(winnow_transaction_is_conflict(transaction), 1);
  EXPECT_EQ(Get("b"), "absent");
  winnow_transaction_destroy(transaction);
}

TEST_F(CApiTransactions, LocksTimeOut) {
  winnow_transactionoptions_set_pessimistic(settings_, 1);
  winnow_transactionoptions_set_lock_timeout_ms(settings_, 0);
  winnow_transactionoptions_set_snapshot_at_begin(settings_, 0);
  winnow_transactionoptions_set_detect_deadlocks(settings_, 0);
  winnow_transaction_t* first = Begin();
  winnow_transaction_t* second = Begin();
  PutIn(first, "a", "1");
  EXPECT_EQ(TakeError(), "");
  PutIn(second, "a", "2");
  const std::string error = TakeError();
  EXPECT_NE(winnow_transaction_id(first), winnow_transaction_id(second));
  EXPECT_NE(error.find("transaction " + std::to_string(winnow_transaction_id(first))),
            std::string::npos)
      << error;
  EXPECT_EQ(winnow_transaction_is_conflict(second), 0);
  EXPECT_EQ(winnow_transaction_is_timeout(second), 1);
  PutIn(second, "b", "2");
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(winnow_transaction_is_timeout(second), 0);
  winnow_transaction_destroy(first);
  winnow_transaction_destroy(second);
  winnow_transactionoptions_set_lock_timeout_ms(settings_, -1);
  EXPECT_EQ(winnow_begin_transaction(db_, settings_, &err_), nullptr);
  EXPECT_TRUE(TakeError().starts_with("Invalid argument: "));
}

}  // namespace
}  // namespace winnow
