// Calls of the C API on an open database, each request for memory of which fails in turn.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/errors/c_api_allocation_fixture.h"
#include "winnow/c.h"

namespace winnow {
namespace {

TEST_F(CApiAllocation, OfAWriteIsAnErrorAndLosesNothing) {
  const std::string value = ValueOf(5);
  Loop(Stride(1), [&] {
    Failing([&] { winnow_put(db_, write_, "new", 3, value.data(), value.size(), &error_); });
    const bool is_put = IsOk();
    if (is_put) {
      expected_["new"] = value;
      Failing([&] { winnow_delete(db_, write_, "new", 3, &error_); });
      if (IsOk()) expected_.erase("new");
    }
    Unfailing([&] {
      EXPECT_EQ(ReadAll(), expected_);
      Reopen();
      expected_ = ReadAll();
      EXPECT_EQ(expected_.size(), 20u + expected_.count("new"));
    });
  });
}

TEST_F(CApiAllocation, OfAReadIsAnErrorAndNotAnAbsentKey) {
  Loop(Stride(1), [&] {
    size_t length;
    for (const int i : {3, 15}) {
      const std::string key = KeyOf(i);
      char* const value =
          Failing([&] { return winnow_get(db_, read_, key.data(), key.size(), &length, &error_); });
      EXPECT_EQ(value != nullptr, IsOk());
      if (value != nullptr) {
        EXPECT_EQ(std::string_view(value, length), ValueOf(i));
      }
      winnow_free(value);
      winnow_pinned_t* const pinned =
          Failing([&] { return winnow_get_pinned(db_, read_, key.data(), key.size(), &error_); });
      EXPECT_EQ(pinned != nullptr, IsOk());
      if (pinned != nullptr) {
        const char* const bytes = winnow_pinned_value(pinned, &length);
        EXPECT_EQ(std::string_view(bytes, length), ValueOf(i));
      }
      winnow_pinned_destroy(pinned);
      const bool exists =
          Failing([&] { return winnow_exists(db_, read_, key.data(), key.size(), &error_); }) != 0;
      EXPECT_EQ(exists, IsOk());
      EXPECT_EQ(Failing([&] { return winnow_may_exist(db_, read_, key.data(), key.size()); }), 1);
    }
    const std::string keys[] = {KeyOf(2), "absent", KeyOf(17)};
    const char* pointers[] = {keys[0].data(), keys[1].data(), keys[2].data()};
    const size_t lengths[] = {keys[0].size(), keys[1].size(), keys[2].size()};
    char* values[3];
    char* errors[3];
    size_t value_lengths[3];
    Failing(
        [&] { winnow_multi_get(db_, read_, 3, pointers, lengths, values, value_lengths, errors); });
    for (int i = 0; i < 3; i++) {
      error_ = errors[i];
      const bool is_ok = IsOk();
      EXPECT_EQ(values[i] != nullptr, is_ok && i != 1);
      winnow_free(values[i]);
    }
  });
}

// A bound that is not there would show, or with a range to delete destroy, what lies outside.
TEST_F(CApiAllocation, OfAnIteratorsBoundIsAnErrorAndNotAnOpenEnd) {
  const std::string padding(40, '0');
  const std::string lower = KeyOf(5) + padding;  // not within the string object
  const std::string upper = KeyOf(15) + padding;
  Loop(Stride(1), [&] {
    winnow_readoptions_t* const read = Made(Failing([] { return winnow_readoptions_create(); }));
    if (read == nullptr) return;
    Failing([&] {
      winnow_readoptions_set_lower_bound(read, lower.data(), lower.size());
      winnow_readoptions_set_upper_bound(read, upper.data(), upper.size());
    });
    winnow_iterator_t* const iterator = Failing([&] { return winnow_create_iterator(db_, read); });
    ASSERT_NE(iterator, nullptr);
    int next = 6;
    for (Failing([&] { winnow_iter_seek_to_first(iterator); }); winnow_iter_valid(iterator);
         Failing([&] { winnow_iter_next(iterator); })) {
      size_t length;
      const char* const key = winnow_iter_key(iterator, &length);
      EXPECT_EQ(std::string_view(key, length), KeyOf(next++));
    }
    Failing([&] { winnow_iter_get_error(iterator, &error_); });
    EXPECT_EQ(next == 16, IsOk());
    winnow_iter_destroy(iterator);
    winnow_readoptions_destroy(read);
  });
}

TEST_F(CApiAllocation, OfMaintenanceIsAnErrorOrNull) {
  Loop(Stride(11), [&] {
    const winnow_snapshot_t* const snapshot =
        Made(Failing([&] { return winnow_create_snapshot(db_); }));
    winnow_release_snapshot(db_, snapshot);
    winnow_free(Made(Failing([&] { return winnow_property_value(db_, "leveldb.stats"); })));
    for (auto* const explain : {winnow_explain, winnow_explain_json}) {
      char* const text = Failing([&] { return explain(db_, "key103", 6, &error_); });
      EXPECT_EQ(text != nullptr, IsOk());
      winnow_free(text);
    }
    for (auto* const plan : {winnow_plan_filters, winnow_plan_filters_json}) {
      char* const text = Failing([&] { return plan(db_, 1 << 20, &error_); });
      EXPECT_EQ(text != nullptr, IsOk());
      winnow_free(text);
    }
    const char* start = "a";
    const char* limit = "z";
    const size_t length = 1;
    uint64_t size;
    Failing([&] { winnow_approximate_sizes(db_, 1, &start, &length, &limit, &length, &size); });
    char* const problems = Failing([&] { return winnow_verify(db_); });
    if (problems != nullptr) {
      EXPECT_NE(std::string_view(problems).find(" memory"), std::string_view::npos) << problems;
      said_so_ = true;
    }
    winnow_free(problems);
    Failing([&] { winnow_set_filter(db_, "blocked_bloom:12", nullptr, &error_); });
    IsOk();
    Failing([&] { winnow_compact_range_checked(db_, nullptr, 0, nullptr, 0, &error_); });
    IsOk();
    Failing([&] { winnow_flush(db_, &error_); });
    IsOk();
    Unfailing([&] {
      Reopen();
      EXPECT_EQ(ReadAll(), expected_);
    });
  });
}

// Without an errptr the error waits for the next write; the database is not lost.
TEST_F(CApiAllocation, OfACompactionStopsWritesUntilOneSucceeds) {
  Loop(Stride(13), [&] {
    Failing([&] { winnow_compact_range(db_, nullptr, 0, nullptr, 0); });
    Unfailing([&] {
      winnow_put(db_, write_, "key100", 6, ValueOf(0).data(), 300, &error_);
      if (error_ != nullptr) {
        said_so_ = true;
        EXPECT_TRUE(IsForMemory(error_)) << error_;
        winnow_free(std::exchange(error_, nullptr));
        winnow_compact_range(db_, nullptr, 0, nullptr, 0);
      }
      Put("key100", ValueOf(0));
      EXPECT_EQ(ReadAll(), expected_);
    });
  });
}

TEST_F(CApiAllocation, OfAFamilysHandleLosesNoFamily) {
  winnow_options_t* const family_options = winnow_options_create();
  winnow_comparator_t* const comparator =
      winnow_comparator_create(nullptr, nullptr, compare_bytes, long_name);
  winnow_comparator_set_equal_keys_have_equal_bytes(comparator, 1);
  winnow_options_set_comparator(family_options, comparator);
  winnow_comparator_destroy(comparator);
  Loop(Stride(5), [&] {
    const char name[] = "second";
    winnow_columnfamily_t* const created =
        Failing([&] { return winnow_create_column_family(db_, family_options, name, &error_); });
    EXPECT_EQ(created != nullptr, IsOk());
    winnow_columnfamily_t* const found =
        Failing([&] { return winnow_find_column_family(db_, name, &error_); });
    if (found == nullptr && error_ != nullptr && created == nullptr) {
      EXPECT_TRUE(std::string_view(error_).starts_with("NotFound") || IsForMemory(error_));
      winnow_free(std::exchange(error_, nullptr));
    }
    IsOk();
    size_t num_names = 0;
    char** const names = Failing(
        [&] { return winnow_list_column_families(options_, path_.c_str(), &num_names, &error_); });
    EXPECT_EQ(names != nullptr, IsOk());
    EXPECT_TRUE(names == nullptr || num_names == (created == nullptr ? 1u : 2u) || !said_so_);
    for (size_t i = 0; i < num_names; i++) {
      EXPECT_NE(names[i], nullptr);
    }
    if (names != nullptr) winnow_list_column_families_destroy(names, num_names);
    winnow_columnfamily_destroy(created);
    winnow_columnfamily_destroy(found);
    Unfailing([&] {
      // Nothing is half there: what exists can be dropped, and made again.
      winnow_columnfamily_t* family = winnow_find_column_family(db_, name, &error_);
      winnow_free(std::exchange(error_, nullptr));
      if (family != nullptr) {
        winnow_drop_column_family(db_, family, &error_);
        ExpectNoError();
        winnow_columnfamily_destroy(family);
      }
      Reopen();
      EXPECT_EQ(ReadAll(), expected_);
    });
  });
  winnow_options_destroy(family_options);
}

TEST_F(CApiAllocation, OfRepairAndDestructionIsAnError) {
  Loop(Stride(29), [&] {
    winnow_close(std::exchange(db_, nullptr));
    Failing([&] { winnow_repair_db(options_, path_.c_str(), &error_); });
    IsOk();
    Unfailing([&] {
      Open();
      EXPECT_EQ(ReadAll(), expected_);
    });
  });
  const std::string doomed = absl::StrCat(directory_.path(), "/doomed");
  Loop(Stride(5), [&] {
    Unfailing([&] { winnow_close(winnow_open(options_, doomed.c_str(), &error_)); });
    ASSERT_EQ(error_, nullptr) << error_;
    Failing([&] { winnow_destroy_db(options_, doomed.c_str(), &error_); });
    IsOk();
    Unfailing([&] {
      winnow_destroy_db(options_, doomed.c_str(), &error_);
      ExpectNoError();
      EXPECT_FALSE(std::filesystem::exists(doomed + "/CURRENT"));
    });
  });
}

}  // namespace
}  // namespace winnow
