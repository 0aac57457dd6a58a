// Comparators and filter policies of a C program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/engine/compat/c_api_fixture.h"
#include "winnow/c.h"

namespace winnow {
namespace {

using CApiCallbacks = CApiTest;

struct CallbackCounts {
  int destroyed = 0;
  int filters = 0;
};
void CountDestruction(void* state) { static_cast<CallbackCounts*>(state)->destroyed++; }
int ReverseCompare(void*, const char* a, size_t alen, const char* b, size_t blen) {
  return std::string_view(b, blen).compare(std::string_view(a, alen));
}
const char* ReverseName(void*) { return "test.reverse"; }
char* FirstBytes(void* state, const char* const* keys, const size_t* lengths, int num_keys,
                 size_t* filter_length) {
  static_cast<CallbackCounts*>(state)->filters++;
  char* filter = static_cast<char*>(std::malloc(static_cast<size_t>(num_keys)));
  for (int i = 0; i < num_keys; i++) filter[i] = lengths[i] == 0 ? '\0' : keys[i][0];
  *filter_length = static_cast<size_t>(num_keys);
  return filter;
}
uint8_t FirstByteIsThere(void*, const char* key, size_t length, const char* filter,
                         size_t filter_length) {
  const std::string_view bytes(filter, filter_length);
  return bytes.find(length == 0 ? '\0' : key[0]) != std::string_view::npos ? 1 : 0;
}
const char* FirstBytesName(void*) { return "test.first-bytes"; }

TEST_F(CApiCallbacks, CallbacksOutliveTheirHandlesWhileADatabaseUsesThem) {
  CallbackCounts order;
  CallbackCounts filter;
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_filterpolicy_t* policy = winnow_filterpolicy_create(&filter, CountDestruction, FirstBytes,
                                                             FirstByteIsThere, FirstBytesName);
  winnow_options_set_comparator(options_, comparator);
  winnow_options_set_filter_policy(options_, policy);
  winnow_t* reversed = winnow_open(options_, "/reversed", &err_);
  ASSERT_NE(reversed, nullptr) << err_;
  winnow_options_set_comparator(options_, nullptr);
  winnow_options_set_filter_policy(options_, nullptr);
  winnow_comparator_destroy(comparator);
  winnow_filterpolicy_destroy(policy);

  winnow_put(reversed, write_, "a", 1, "1", 1, &err_);
  winnow_put(reversed, write_, "b", 1, "2", 1, &err_);
  winnow_flush(reversed, &err_);
  EXPECT_EQ(filter.filters, 1);
  EXPECT_EQ(winnow_may_exist(reversed, read_, "ax", 2), 1);
  EXPECT_EQ(winnow_may_exist(reversed, read_, "az", 2), 1);
  winnow_iterator_t* iterator = winnow_create_iterator(reversed, read_);
  winnow_iter_seek_to_first(iterator);
  size_t length;
  EXPECT_EQ(*winnow_iter_key(iterator, &length), 'b');
  winnow_iter_destroy(iterator);
  EXPECT_EQ(order.destroyed + filter.destroyed, 0);
  winnow_close_checked(reversed, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(order.destroyed, 1);
  EXPECT_EQ(filter.destroyed, 1);
}

TEST_F(CApiCallbacks, ABloomPolicyFiltersUnderACustomOrder) {
  CallbackCounts order;
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_filterpolicy_t* policy = winnow_filterpolicy_create_bloom(10);
  winnow_options_set_comparator(options_, comparator);
  winnow_options_set_filter_policy(options_, policy);
  winnow_t* db = winnow_open(options_, "/bloom", &err_);
  ASSERT_NE(db, nullptr) << err_;
  char* filter = winnow_property_value(db, "winnow.filter");
  EXPECT_STREQ(filter, "blocked_bloom:10");
  winnow_free(filter);
  winnow_close(db);

  winnow_options_set_filter_policy(options_, nullptr);
  winnow_options_set(options_, "filter", "cuckoo:12", &err_);
  EXPECT_EQ(winnow_open(options_, "/bloom", &err_), nullptr);
  EXPECT_NE(TakeError().find("EqualKeysHaveEqualBytes"), std::string::npos);
  winnow_comparator_set_equal_keys_have_equal_bytes(comparator, 1);
  db = winnow_open(options_, "/bloom", &err_);
  EXPECT_NE(db, nullptr) << err_;
  winnow_close(db);
  winnow_comparator_destroy(comparator);
  winnow_filterpolicy_destroy(policy);
  winnow_options_set_comparator(options_, nullptr);
  EXPECT_EQ(order.destroyed, 1);
}

TEST_F(CApiCallbacks, FamiliesOpenWithTheirOwnOptions) {
  static CallbackCounts order;  // the fixture's options keep the comparator longer than this test
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_options_t* family_options = winnow_options_create();
  winnow_options_set_comparator(family_options, comparator);
  winnow_comparator_destroy(comparator);
  winnow_columnfamily_t* family =
      winnow_create_column_family(db_, family_options, "reversed", &err_);
  ASSERT_NE(family, nullptr) << err_;
  winnow_put_cf(db_, write_, family, "a", 1, "", 0, &err_);
  winnow_columnfamily_destroy(family);
  winnow_options_set_column_family(options_, "reversed", family_options);
  winnow_options_destroy(family_options);
  Reopen();
  family = winnow_find_column_family(db_, "reversed", &err_);
  EXPECT_EQ(winnow_exists_cf(db_, read_, family, "a", 1, &err_), 1) << err_;
  winnow_columnfamily_destroy(family);
  EXPECT_EQ(winnow_find_column_family(db_, "nobody", &err_), nullptr);
  EXPECT_NE(TakeError(), "");
}

TEST_F(CApiCallbacks, AWriterOfSstablesOutlivesItsDatabase) {
  CallbackCounts order;
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_options_t* family_options = winnow_options_create();
  winnow_options_set_comparator(family_options, comparator);
  winnow_comparator_destroy(comparator);
  winnow_columnfamily_t* family =
      winnow_create_column_family(db_, family_options, "reversed", &err_);
  winnow_options_destroy(family_options);
  ASSERT_NE(family, nullptr) << err_;
  winnow_sstwriter_t* writer = winnow_sstwriter_create_cf(db_, family, "/t", &err_);
  ASSERT_NE(writer, nullptr) << err_;
  winnow_columnfamily_destroy(family);
  winnow_close(db_);
  db_ = nullptr;
  ASSERT_EQ(order.destroyed, 0) << "the writer compares keys";
  for (const char* key : {"b", "a"}) winnow_sstwriter_put(writer, key, 1, "v", 1, &err_);
  winnow_sstwriter_finish(writer, &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_sstwriter_destroy(writer);
  EXPECT_EQ(order.destroyed, 1);
}

}  // namespace
}  // namespace winnow
