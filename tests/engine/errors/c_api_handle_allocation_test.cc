// Handles of the C API that there is no memory to make, or to add something to.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/errors/c_api_allocation_fixture.h"
#include "winnow/c.h"

namespace winnow {
namespace {

using CApiHandleAllocation = CApiAllocation;

char* no_filter(void* /*state*/, const char* const* /*keys*/, const size_t* /*lengths*/,
                int /*num_keys*/, size_t* length) {
  *length = 0;
  return nullptr;
}
uint8_t may_match(void* /*state*/, const char* /*key*/, size_t /*length*/, const char* /*filter*/,
                  size_t /*filter_length*/) {
  return 1;
}
void count_call(void* state) { ++*static_cast<int*>(state); }

TEST_F(CApiHandleAllocation, OfAHandleIsNull) {
  Loop(1, [this] {
    winnow_options_destroy(Made(Failing([] { return winnow_options_create(); })));
    winnow_options_destroy(
        Made(Failing([] { return winnow_options_create_for_memory(16 << 20, 1); })));
    winnow_readoptions_destroy(Made(Failing([] { return winnow_readoptions_create(); })));
    winnow_writeoptions_destroy(Made(Failing([] { return winnow_writeoptions_create(); })));
    winnow_writebatch_destroy(Made(Failing([] { return winnow_writebatch_create(); })));
    winnow_indexed_write_batch_destroy(
        Made(Failing([this] { return winnow_indexed_write_batch_create(db_); })));
    winnow_cache_destroy(Made(Failing([] { return winnow_cache_create_lru(1 << 20); })));
    winnow_env_destroy(Made(Failing([] { return winnow_create_default_env(); })));
    winnow_env_destroy(Made(Failing([] { return winnow_create_memory_env(); })));
    winnow_filterpolicy_destroy(Made(Failing([] { return winnow_filterpolicy_create_bloom(10); })));
  });
}

// Whoever gets null keeps the state; nobody must free it twice, or not at all.
TEST_F(CApiHandleAllocation, OfACallbackLeavesTheStateToItsOwner) {
  Loop(1, [this] {
    int destroyed = 0;
    winnow_comparator_t* const comparator = Made(Failing([&] {
      return winnow_comparator_create(&destroyed, count_call, compare_bytes, long_name);
    }));
    EXPECT_EQ(destroyed, 0);
    winnow_comparator_destroy(comparator);
    EXPECT_EQ(destroyed, comparator == nullptr ? 0 : 1);
    destroyed = 0;
    winnow_filterpolicy_t* const policy = Made(Failing([&] {
      return winnow_filterpolicy_create(&destroyed, count_call, no_filter, may_match, long_name);
    }));
    EXPECT_EQ(destroyed, 0);
    winnow_filterpolicy_destroy(policy);
    EXPECT_EQ(destroyed, policy == nullptr ? 0 : 1);
  });
}

TEST_F(CApiHandleAllocation, OfAnOptionKeepsTheDatabaseFromOpening) {
  const char name[] = "a family with a name of some length";
  winnow_columnfamily_destroy(winnow_create_column_family(db_, options_, name, &error_));
  ExpectNoError();
  winnow_close(std::exchange(db_, nullptr));
  winnow_filterpolicy_t* const policy = winnow_filterpolicy_create_bloom(64);
  winnow_options_t* const family = winnow_options_create();
  Loop(Stride(23), [&] {
    winnow_options_t* options = nullptr;
    Unfailing([&] {
      options = winnow_options_create();
      winnow_options_set_create_if_missing(options, 1);
    });
    Failing([&] {
      winnow_options_set_filter_policy(options, policy);
      winnow_options_set_column_family(options, name, family);
      winnow_options_set(options, "filter_key", "prefix:8", &error_);
    });
    IsOk();
    winnow_t* const db = Failing([&] { return winnow_open(options, path_.c_str(), &error_); });
    EXPECT_EQ(db != nullptr, IsOk());
    if (db != nullptr) {
      Unfailing([&] {
        char* const filter = winnow_property_value(db, "winnow.filter");
        EXPECT_NE(std::string_view(filter).find("blocked_bloom:64"), std::string_view::npos);
        winnow_free(filter);
      });
      Failing([&] { winnow_close(db); });
    }
    winnow_options_destroy(options);
  });
  winnow_options_destroy(family);
  winnow_filterpolicy_destroy(policy);
  Open();
  EXPECT_EQ(ReadAll(), expected_);
}

TEST_F(CApiHandleAllocation, OfAnUpdateKeepsTheBatchFromBeingWritten) {
  winnow_writebatch_t* const other = winnow_writebatch_create();
  winnow_writebatch_put(other, "other", 5, "value", 5);
  int run = 0;
  Loop(Stride(1), [&] {
    run++;
    Contents with = expected_;
    winnow_writebatch_t* const batch = Made(Failing([] { return winnow_writebatch_create(); }));
    if (batch == nullptr) return;
    for (int i = 0; i < 4; i++) {
      const std::string key = absl::StrCat("batch", run % 7, i);
      with[key] = ValueOf(i + run);
      Failing([&] { winnow_writebatch_put(batch, key.data(), key.size(), with[key].data(), 300); });
    }
    with["other"] = "value";
    with.erase(KeyOf(3));
    Failing([&] {
      winnow_writebatch_delete(batch, KeyOf(3).data(), 6);
      winnow_writebatch_append(batch, other);
      winnow_write(db_, write_, batch, &error_);
    });
    const bool is_written = IsOk();
    Unfailing([&] {
      if (!is_written) {
        EXPECT_EQ(ReadAll(), expected_);
        Reopen();
        // Usable again once it is empty.
        winnow_writebatch_clear(batch);
        winnow_write(db_, write_, batch, &error_);
        ExpectNoError();
      }
      const Contents found = ReadAll();
      EXPECT_TRUE(found == with || (!is_written && found == expected_));
      expected_ = found;
      winnow_writebatch_destroy(batch);
    });
  });
  winnow_writebatch_destroy(other);
}

}  // namespace
}  // namespace winnow
