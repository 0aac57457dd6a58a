// The C API's write batches that can be read.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

class CApiIndexedWriteBatch : public CApiTest {
 protected:
  ~CApiIndexedWriteBatch() override { winnow_indexed_write_batch_destroy(batch_); }

  void PutIn(const std::string& key, const std::string& value) {
    winnow_indexed_write_batch_put(batch_, nullptr, key.data(), key.size(), value.data(),
                                   value.size(), &err_);
    EXPECT_EQ(TakeError(), "");
  }
  std::string GetIn(const std::string& key, winnow_columnfamily_t* family = nullptr) {
    size_t length = 77;
    char* value = winnow_indexed_write_batch_get(batch_, read_, family, key.data(), key.size(),
                                                 &length, &err_);
    EXPECT_EQ(TakeError(), "");
    const std::string result = value == nullptr ? "absent" : std::string(value, length);
    winnow_free(value);
    return result;
  }
  // "a=1 b=2 "
  std::string WalkIn() {
    winnow_iterator_t* it = winnow_indexed_write_batch_create_iterator(batch_, read_, nullptr);
    std::string shown;
    for (winnow_iter_seek_to_first(it); winnow_iter_valid(it) != 0; winnow_iter_next(it)) {
      size_t length = 0;
      const char* key = winnow_iter_key(it, &length);
      shown += std::string(key, length) + "=";
      const char* value = winnow_iter_value(it, &length);
      shown += std::string(value, length) + " ";
    }
    winnow_iter_get_error(it, &err_);
    EXPECT_EQ(TakeError(), "");
    winnow_iter_destroy(it);
    return shown;
  }

  winnow_indexed_write_batch_t* batch_ = winnow_indexed_write_batch_create(db_);
};

TEST_F(CApiIndexedWriteBatch, ShowsItsUpdatesOverTheDatabaseAndWritesThem) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "base");
  PutIn("b", "own");
  winnow_indexed_write_batch_delete(batch_, nullptr, "a", 1, &err_);
  winnow_indexed_write_batch_delete_range(batch_, nullptr, "b", 1, "d", 1, &err_);
  PutIn("cc", "own");
  EXPECT_EQ(winnow_indexed_write_batch_count(batch_), 4U);
  EXPECT_EQ(GetIn("a"), "absent");
  EXPECT_EQ(GetIn("b"), "absent");
  EXPECT_EQ(GetIn("cc"), "own");
  EXPECT_EQ(GetIn("d"), "base");
  EXPECT_EQ(WalkIn(), "cc=own d=base ");
  const std::array<const char*, 2> keys = {"c", "cc"};
  const std::array<size_t, 2> lengths = {1, 2};
  std::array<char*, 2> values;
  std::array<size_t, 2> value_lengths;
  std::array<char*, 2> errors;
  winnow_indexed_write_batch_multi_get(batch_, read_, nullptr, 2, keys.data(), lengths.data(),
                                       values.data(), value_lengths.data(), errors.data());
  EXPECT_EQ(values[0], nullptr);
  EXPECT_EQ(std::string(values[1], value_lengths[1]), "own");
  for (const char* error : errors) EXPECT_EQ(error, nullptr);
  winnow_free(values[1]);
  EXPECT_EQ(Get("b"), "base");

  winnow_indexed_write_batch_write(batch_, write_, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(Get("cc"), "own");
  winnow_indexed_write_batch_clear(batch_);
  EXPECT_EQ(winnow_indexed_write_batch_count(batch_), 0U);
  Put("cc", "later");
  EXPECT_EQ(GetIn("cc"), "later");
}

TEST_F(CApiIndexedWriteBatch, SavepointsNest) {
  PutIn("a", "1");
  winnow_indexed_write_batch_set_savepoint(batch_, &err_);
  PutIn("a", "2");
  winnow_indexed_write_batch_set_savepoint(batch_, &err_);
  winnow_indexed_write_batch_delete_range(batch_, nullptr, "a", 1, "b", 1, &err_);
  EXPECT_EQ(GetIn("a"), "absent");
  winnow_indexed_write_batch_rollback_to_savepoint(batch_, &err_);
  EXPECT_EQ(GetIn("a"), "2");
  winnow_indexed_write_batch_pop_savepoint(batch_, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(GetIn("a"), "2");
  winnow_indexed_write_batch_rollback_to_savepoint(batch_, &err_);
  EXPECT_NE(TakeError(), "") << "there is none";
  winnow_indexed_write_batch_pop_savepoint(batch_, &err_);
  EXPECT_NE(TakeError(), "");
}

TEST_F(CApiIndexedWriteBatch, WhatIsRefusedLeavesItAsItWas) {
  PutIn("a", "1");
  winnow_indexed_write_batch_delete_range(batch_, nullptr, "c", 1, "a", 1, &err_);
  EXPECT_TRUE(TakeError().starts_with("Invalid argument: "));
  winnow_indexed_write_batch_merge(batch_, nullptr, "a", 1, "1", 1, &err_);
  EXPECT_NE(TakeError(), "") << "there is no merge operator";
  EXPECT_EQ(winnow_indexed_write_batch_count(batch_), 1U);
}

TEST_F(CApiIndexedWriteBatch, OtherFamiliesAndOperands) {
  winnow_options_t* settings = winnow_options_create();
  winnow_options_set(settings, "merge_operator", "append:,", &err_);
  winnow_columnfamily_t* other = winnow_create_column_family(db_, settings, "other", &err_);
  ASSERT_NE(other, nullptr) << err_;
  winnow_put_cf(db_, write_, other, "a", 1, "base", 4, &err_);
  winnow_indexed_write_batch_merge(batch_, other, "a", 1, "1", 1, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(GetIn("a", other), "base,1");
  EXPECT_EQ(GetIn("a"), "absent");
  winnow_indexed_write_batch_delete_range(batch_, other, "a", 1, "b", 1, &err_);
  winnow_indexed_write_batch_merge(batch_, other, "a", 1, "2", 1, &err_);
  EXPECT_EQ(GetIn("a", other), "2");
  winnow_indexed_write_batch_write(batch_, write_, &err_);
  EXPECT_EQ(TakeError(), "");
  size_t length = 0;
  char* value = winnow_get_cf(db_, read_, other, "a", 1, &length, &err_);
  EXPECT_EQ(std::string(value, length), "2");
  winnow_free(value);
  winnow_columnfamily_destroy(other);
  winnow_options_destroy(settings);
}

}  // namespace
}  // namespace winnow
