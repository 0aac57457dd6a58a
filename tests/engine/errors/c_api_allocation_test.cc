// There is no memory for one request of a C call, the first, the second, and so on, or for all from
// there on: nothing is thrown at a caller who could not catch it, the call says so or gives null,
// and no part of what it was given is taken for the whole.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "winnow/c.h"

namespace winnow {
namespace {

// "out of memory", or "no memory for 61 bytes", and perhaps what became of the call.
bool IsForMemory(std::string_view error) {
  return error.starts_with("IO error: ") && error.find(" memory") != std::string_view::npos;
}

// Only in the library's part of a call do requests of this thread fail.
template <typename Calls>
auto Failing(Calls&& calls) {
  const AllocationsOfThisThread fail(true);
  return calls();
}

class CApiAllocation : public testing::Test {
 protected:
  using Contents = std::map<std::string, std::string>;

  static std::string KeyOf(int i) { return absl::StrCat("key", 100 + i); }
  static std::string ValueOf(int i) { return std::string(300, static_cast<char>('a' + i % 26)); }

  void SetUp() override {
    options_ = winnow_options_create();
    winnow_options_set_create_if_missing(options_, 1);
    SetOptionOrFail("background_threads", "1");
    SetOptionOrFail("write_buffer_bytes", "262144");
    SetOptionOrFail("info_log_bytes", "0");
    Open();
    for (int i = 0; i < 20; i++) {
      Put(KeyOf(i), ValueOf(i));
      if (i == 9) winnow_flush(db_, &error_);
    }
    ExpectNoError();
  }

  void TearDown() override {
    winnow_close(db_);
    winnow_options_destroy(options_);
    winnow_readoptions_destroy(read_);
    winnow_writeoptions_destroy(write_);
  }

  void SetOptionOrFail(const char* name, const char* value) {
    winnow_options_set(options_, name, value, &error_);
    ExpectNoError();
  }

  void ExpectNoError() {
    EXPECT_EQ(error_, nullptr) << error_;
    winnow_free(std::exchange(error_, nullptr));
  }

  void Open() {
    db_ = winnow_open(options_, path_.c_str(), &error_);
    ExpectNoError();
    ASSERT_NE(db_, nullptr);
  }

  void Put(const std::string& key, const std::string& value) {
    winnow_put(db_, write_, key.data(), key.size(), value.data(), value.size(), &error_);
    ExpectNoError();
    expected_[key] = value;
  }

  Contents ReadAll() {
    Contents found;
    winnow_iterator_t* const iterator = winnow_create_iterator(db_, read_);
    for (winnow_iter_seek_to_first(iterator); winnow_iter_valid(iterator);
         winnow_iter_next(iterator)) {
      size_t key_length;
      size_t value_length;
      const char* const key = winnow_iter_key(iterator, &key_length);
      const char* const value = winnow_iter_value(iterator, &value_length);
      found[std::string(key, key_length)] = std::string(value, value_length);
    }
    winnow_iter_get_error(iterator, &error_);
    ExpectNoError();
    winnow_iter_destroy(iterator);
    return found;
  }

  // What the call said, which was made with errptr `error_`: true if nothing.
  bool IsOk() {
    const bool is_ok = error_ == nullptr;
    EXPECT_TRUE(is_ok || IsForMemory(error_)) << error_;
    winnow_free(std::exchange(error_, nullptr));
    said_so_ |= !is_ok;
    return is_ok;
  }

  // The same of a call that says it by null.
  template <typename Handle>
  Handle* Made(Handle* handle) {
    said_so_ |= handle == nullptr;
    return handle;
  }

  // A write that failed may have reached the log: the next opening decides.
  void Reopen() {
    winnow_close(db_);
    Open();
  }

  // `call` with each request failing in turn, until none fails; returns how many did.
  uint64_t Loop(uint64_t stride, const std::function<void()>& call) {
    uint64_t runs = 0;
    for (const bool for_ever : {false, true}) {
      for (uint64_t which = 0;; which += stride) {
        SCOPED_TRACE(absl::StrCat("request ", which, for_ever ? " and later" : ""));
        said_so_ = false;
        CountAllocations({}, which, for_ever);
        try {
          call();
        } catch (const std::bad_alloc&) {
          ADD_FAILURE() << "has thrown std::bad_alloc";
        }
        uint64_t failed = 0;
        StopCountingAllocations(&failed);
        EXPECT_TRUE(failed > 0 || !said_so_);
        if (HasFailure()) return runs;
        if (failed == 0) break;
        runs++;
      }
    }
    EXPECT_GT(runs, 0u);
    return runs;
  }

  static uint64_t Stride(uint64_t quick) { return LongTests() ? 1 : quick; }

  // Between calls of the library: no request of any thread fails meanwhile.
  static void Unfailing(const std::function<void()>& check) {
    uint64_t failed = 0;
    StopCountingAllocations(&failed);
    check();
    ResumeCountingAllocations();
  }

  const AllocationsOfThisThread succeed_{false};
  const ScratchDirectory directory_{"c_api_allocation"};
  const std::string path_ = absl::StrCat(directory_.path(), "/db");
  winnow_options_t* options_ = nullptr;
  winnow_readoptions_t* const read_ = winnow_readoptions_create();
  winnow_writeoptions_t* const write_ = winnow_writeoptions_create();
  winnow_t* db_ = nullptr;
  char* error_ = nullptr;
  bool said_so_ = false;
  Contents expected_;
};

int compare_bytes(void* /*state*/, const char* a, size_t a_length, const char* b, size_t b_length) {
  return std::string_view(a, a_length).compare(std::string_view(b, b_length));
}
const char* long_name(void* /*state*/) { return "a name that takes memory of its own"; }
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

TEST_F(CApiAllocation, OfAHandleIsNull) {
  Loop(1, [this] {
    winnow_options_destroy(Made(Failing([] { return winnow_options_create(); })));
    winnow_options_destroy(
        Made(Failing([] { return winnow_options_create_for_memory(16 << 20, 1); })));
    winnow_readoptions_destroy(Made(Failing([] { return winnow_readoptions_create(); })));
    winnow_writeoptions_destroy(Made(Failing([] { return winnow_writeoptions_create(); })));
    winnow_writebatch_destroy(Made(Failing([] { return winnow_writebatch_create(); })));
    winnow_cache_destroy(Made(Failing([] { return winnow_cache_create_lru(1 << 20); })));
    winnow_env_destroy(Made(Failing([] { return winnow_create_default_env(); })));
    winnow_env_destroy(Made(Failing([] { return winnow_create_memory_env(); })));
    winnow_filterpolicy_destroy(Made(Failing([] { return winnow_filterpolicy_create_bloom(10); })));
  });
}

// Whoever gets null keeps the state; nobody must free it twice, or not at all.
TEST_F(CApiAllocation, OfACallbackLeavesTheStateToItsOwner) {
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

TEST_F(CApiAllocation, OfAnOptionKeepsTheDatabaseFromOpening) {
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

TEST_F(CApiAllocation, OfAnUpdateKeepsTheBatchFromBeingWritten) {
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
