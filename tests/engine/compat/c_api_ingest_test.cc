// The C API's calls for bulk loading.
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

class CApiIngest : public CApiTest {
 protected:
  void Add(winnow_sstwriter_t* writer, const std::string& key, const std::string& value) {
    winnow_sstwriter_put(writer, key.data(), key.size(), value.data(), value.size(), &err_);
  }

  winnow_ingestoptions_t* ingest_ = winnow_ingestoptions_create();
  ~CApiIngest() override { winnow_ingestoptions_destroy(ingest_); }
};

TEST_F(CApiIngest, TablesAreWrittenAndIngested) {
  Put("a", "old");
  winnow_sstwriter_t* writer = winnow_sstwriter_create(options_, "/t1", &err_);
  ASSERT_NE(writer, nullptr) << err_;
  Add(writer, "a", "new");
  Add(writer, "b", "new");
  winnow_sstwriter_delete(writer, "c", 1, &err_);
  EXPECT_EQ(TakeError(), "");
  Add(writer, "b", "again");
  EXPECT_TRUE(TakeError().starts_with("Invalid argument: "));
  winnow_sstwriter_finish(writer, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_GT(winnow_sstwriter_file_bytes(writer), 0u);
  winnow_sstwriter_destroy(writer);
  winnow_ingestoptions_set_move(ingest_, 1);
  const char* const path = "/t1";
  EXPECT_EQ(winnow_ingest(db_, ingest_, &path, 1, &err_), 2u);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(Get("a"), "new");
  EXPECT_EQ(Get("b"), "new");
  EXPECT_EQ(winnow_ingest(db_, ingest_, &path, 1, &err_), 0u);
  EXPECT_NE(TakeError(), "") << "it has been moved away";
}

TEST_F(CApiIngest, FilesOfSeveralFamiliesComeInTogether) {
  winnow_columnfamily_t* families[] = {winnow_find_column_family(db_, "default", &err_),
                                       winnow_create_column_family(db_, options_, "other", &err_)};
  const char* const paths[] = {"/t1", "/t2"};
  for (size_t i = 0; i < 2; i++) {
    winnow_sstwriter_t* writer = winnow_sstwriter_create_cf(db_, families[i], paths[i], &err_);
    ASSERT_NE(writer, nullptr) << err_;
    Add(writer, "key", paths[i]);
    winnow_sstwriter_finish(writer, &err_);
    winnow_sstwriter_destroy(writer);
  }
  winnow_ingestoptions_set_verify(ingest_, 0);
  EXPECT_GT(winnow_ingest_cf(db_, ingest_, families, paths, 2, &err_), 0u);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(Get("key"), "/t1");
  size_t length = 0;
  char* value = winnow_get_cf(db_, read_, families[1], "key", 3, &length, &err_);
  EXPECT_EQ(std::string(value, length), "/t2");
  winnow_free(value);
  for (winnow_columnfamily_t* family : families) winnow_columnfamily_destroy(family);
}

TEST_F(CApiIngest, BehindNeedsItsOption) {
  winnow_sstwriter_t* writer = winnow_sstwriter_create(options_, "/t", &err_);
  Add(writer, "a", "oldest");
  winnow_sstwriter_finish(writer, &err_);
  winnow_sstwriter_destroy(writer);
  winnow_ingestoptions_set_behind(ingest_, 1);
  const char* const path = "/t";
  winnow_ingest(db_, ingest_, &path, 1, &err_);
  EXPECT_NE(TakeError(), "");
  winnow_options_set(options_, "allow_ingest_behind", "true", &err_);
  Reopen();
  Put("b", "put");
  winnow_ingest(db_, ingest_, &path, 1, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(Get("a"), "oldest");
}

TEST_F(CApiIngest, AWriterThatIsGivenBackUnfinishedLeavesNoFile) {
  winnow_sstwriter_t* writer = winnow_sstwriter_create(options_, "/t", &err_);
  ASSERT_NE(writer, nullptr) << err_;
  winnow_sstwriter_destroy(writer);
  writer = winnow_sstwriter_create(options_, "/t", &err_);
  EXPECT_NE(writer, nullptr) << err_;
  winnow_sstwriter_finish(writer, &err_);
  EXPECT_TRUE(TakeError().starts_with("Invalid argument: ")) << "no entries";
  winnow_sstwriter_destroy(writer);
  winnow_sstwriter_destroy(nullptr);
}

}  // namespace
}  // namespace winnow
