// What the tests of the C API share.
#ifndef WINNOW_TESTS_ENGINE_COMPAT_C_API_FIXTURE_H_
#define WINNOW_TESTS_ENGINE_COMPAT_C_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/compat/c_handles.h"
#include "winnow/c.h"

namespace winnow {

// A database in memory, with the handles that most calls need.
class CApiTest : public testing::Test {
 protected:
  CApiTest() {
    winnow_options_set_env(options_, env_);
    winnow_options_set_create_if_missing(options_, 1);
    Open();
  }
  ~CApiTest() override {
    winnow_close(db_);
    winnow_options_destroy(options_);
    winnow_readoptions_destroy(read_);
    winnow_writeoptions_destroy(write_);
    winnow_env_destroy(env_);
    winnow_free(err_);
  }

  void Open() {
    db_ = winnow_open(options_, "/db", &err_);
    ASSERT_EQ(err_, nullptr) << err_;
    ASSERT_NE(db_, nullptr);
  }
  void Reopen() {
    winnow_close(db_);
    Open();
  }
  void Put(const std::string& key, const std::string& value) {
    winnow_put(db_, write_, key.data(), key.size(), value.data(), value.size(), &err_);
    ASSERT_EQ(err_, nullptr) << err_;
  }
  // The value, or "absent".
  std::string Get(const std::string& key) {
    size_t length = 77;
    char* value = winnow_get(db_, read_, key.data(), key.size(), &length, &err_);
    EXPECT_EQ(err_, nullptr) << err_;
    if (value == nullptr) {
      EXPECT_EQ(length, 0U);
      return "absent";
    }
    const std::string copy(value, length);
    winnow_free(value);
    return copy;
  }
  // One byte of each SSTable's first block; the database must be closed.
  void DamageTables() {
    FileSystem& files = *env_->file_system;
    const std::vector<std::string> names = *files.List("/db");
    for (const std::string& name : names) {
      if (!name.ends_with(".sst")) continue;
      std::string bytes = *ReadFile(files, "/db/" + name, 1 << 20);
      const size_t in_first_block =
          48 + std::string_view("default").size() + 4;  // behind the header
      bytes[in_first_block] = static_cast<char>(bytes[in_first_block] ^ 1);
      ASSERT_TRUE(WriteFileAtomically(files, "/db/" + name, bytes).ok());
    }
  }
  // Takes and clears the error's text.
  std::string TakeError() {
    const std::string text = err_ == nullptr ? "" : err_;
    winnow_free(err_);
    err_ = nullptr;
    return text;
  }

  winnow_env_t* env_ = winnow_create_memory_env();
  winnow_options_t* options_ = winnow_options_create();
  winnow_readoptions_t* read_ = winnow_readoptions_create();
  winnow_writeoptions_t* write_ = winnow_writeoptions_create();
  winnow_t* db_ = nullptr;
  char* err_ = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_COMPAT_C_API_FIXTURE_H_
