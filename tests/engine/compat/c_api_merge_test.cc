// The C API's merge operators, built-in and made of callbacks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

char* Malloced(const std::string& bytes, size_t* length) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  *length = bytes.size();
  return copy;
}

// Joins by '/'. An operand "bad" it refuses.
struct Joiner {
  int destroyed = 0;
  int partial_merges = 0;

  static std::string Join(std::string joined, bool has_first, const char* const* operands,
                          const size_t* lengths, int count, uint8_t* success) {
    for (int i = 0; i < count; i++) {
      const std::string operand(operands[i], lengths[i]);
      if (operand == "bad") *success = 0;
      if (has_first || i > 0) joined += "/";
      joined += operand;
    }
    return joined;
  }
  static char* Full(void*, const char*, size_t, const char* existing, size_t existing_length,
                    const char* const* operands, const size_t* lengths, int count, uint8_t* success,
                    size_t* result_length) {
    const bool has_first = existing != nullptr;
    const std::string first = has_first ? std::string(existing, existing_length) : "";
    return Malloced(Join(first, has_first, operands, lengths, count, success), result_length);
  }
  static char* Partial(void* state, const char*, size_t, const char* const* operands,
                       const size_t* lengths, int count, uint8_t* success, size_t* result_length) {
    static_cast<Joiner*>(state)->partial_merges++;
    return Malloced(Join("", false, operands, lengths, count, success), result_length);
  }
  static const char* Name(void*) { return "test.joiner"; }
  static void Destroy(void* state) { static_cast<Joiner*>(state)->destroyed++; }
};

class CApiMerge : public CApiTest {
 protected:
  void Merge(const std::string& key, const std::string& operand) {
    winnow_merge(db_, write_, key.data(), key.size(), operand.data(), operand.size(), &err_);
  }
};

TEST_F(CApiMerge, AnOperatorOfCallbacksMergesAndGoesWithItsDatabase) {
  Joiner joiner;
  Merge("key", "a");
  EXPECT_TRUE(TakeError().find("has no merge operator") != std::string::npos);
  winnow_mergeoperator_t* joining = winnow_mergeoperator_create(
      &joiner, Joiner::Destroy, Joiner::Full, Joiner::Partial, Joiner::Name);
  winnow_options_set_merge_operator(options_, joining);
  winnow_mergeoperator_destroy(joining);
  winnow_close(db_);
  db_ = winnow_open(options_, "/db", &err_);
  ASSERT_NE(db_, nullptr) << err_;
  Put("key", "");
  Merge("key", "a");
  winnow_writebatch_t* batch = winnow_writebatch_create();
  winnow_writebatch_merge(batch, "key", 3, "b", 1);
  winnow_writebatch_put(batch, "other", 5, "x", 1);
  winnow_columnfamily_t* family = winnow_find_column_family(db_, "default", &err_);
  winnow_writebatch_merge_cf(batch, family, "other", 5, "y", 1);
  std::vector<std::string> updates;
  winnow_writebatch_iterate_updates(
      batch, &updates,
      [](void* state, int kind, uint32_t, const char* k, size_t klen, const char* v, size_t vlen) {
        static_cast<std::vector<std::string>*>(state)->push_back(
            std::to_string(kind) + std::string(k, klen) + std::string(v, vlen));
      });
  EXPECT_EQ(updates, (std::vector<std::string>{"2keyb", "1otherx", "2othery"}));
  winnow_write(db_, write_, batch, &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_writebatch_destroy(batch);
  winnow_merge_cf(db_, write_, family, "fresh", 5, "1", 1, &err_);
  Merge("fresh", "2");
  Merge("refused", "bad");
  EXPECT_EQ(Get("key"), "/a/b") << "an empty value is not an absent one";
  EXPECT_EQ(Get("other"), "x/y");
  winnow_flush(db_, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_GT(joiner.partial_merges, 0);
  EXPECT_EQ(Get("fresh"), "1/2");
  size_t length = 0;
  EXPECT_EQ(winnow_get(db_, read_, "refused", 7, &length, &err_), nullptr);
  EXPECT_TRUE(TakeError().find("full_merge has failed") != std::string::npos);
  winnow_columnfamily_destroy(family);
  winnow_options_set_merge_operator(options_, nullptr);
  winnow_close(db_);
  EXPECT_EQ(joiner.destroyed, 1);
  db_ = winnow_open(options_, "/db", &err_);
  EXPECT_EQ(db_, nullptr);
  EXPECT_TRUE(TakeError().find("'test.joiner'") != std::string::npos);
}

TEST_F(CApiMerge, BuiltInOperatorsHaveTheirNames) {
  winnow_options_set(options_, "merge_operator", "append:+", &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_close(db_);
  db_ = winnow_open(options_, "/db", &err_);
  Merge("key", "a");
  Merge("key", "b");
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(Get("key"), "a+b");
  winnow_sstwriter_t* writer = winnow_sstwriter_create(options_, "/t", &err_);
  winnow_sstwriter_merge(writer, "key", 3, "c", 1, &err_);
  winnow_sstwriter_finish(writer, &err_);
  winnow_sstwriter_destroy(writer);
  winnow_ingestoptions_t* ingest = winnow_ingestoptions_create();
  const char* const path = "/t";
  winnow_ingest(db_, ingest, &path, 1, &err_);
  winnow_ingestoptions_destroy(ingest);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(Get("key"), "a+b+c");
}

}  // namespace
}  // namespace winnow
