// There is no memory for one request of a C call, the first, the second, and so on, or for all from
// there on: nothing is thrown at a caller who could not catch it, the call says so or gives null,
// and no part of what it was given is taken for the whole.
#ifndef WINNOW_TESTS_ENGINE_ERRORS_C_API_ALLOCATION_FIXTURE_H_
#define WINNOW_TESTS_ENGINE_ERRORS_C_API_ALLOCATION_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "winnow/c.h"

namespace winnow {

// "out of memory", or "no memory for 61 bytes", and perhaps what became of the call.
inline bool IsForMemory(std::string_view error) {
  return error.starts_with("IO error: ") && error.find(" memory") != std::string_view::npos;
}

// Only in the library's part of a call do requests of this thread fail.
template <typename Calls>
auto Failing(Calls&& calls) {
  const AllocationsOfThisThread fail(true);
  return calls();
}

// A C program's comparator.
inline int compare_bytes(void* /*state*/, const char* a, size_t a_length, const char* b,
                         size_t b_length) {
  return std::string_view(a, a_length).compare(std::string_view(b, b_length));
}
inline const char* long_name(void* /*state*/) { return "a name that takes memory of its own"; }

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

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_ERRORS_C_API_ALLOCATION_FIXTURE_H_
