// The C API's calls about filters that are there: refiltering, plans, traces.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

class CApiFilters : public CApiTest {
 protected:
  // In two tables.
  void Fill() {
    for (int i = 0; i < 200; i++) {
      Put("key" + std::to_string(1000 + i), "value");
      if (i % 100 == 99) Flush();
    }
  }
  void Flush() {
    winnow_flush(db_, &err_);
    ASSERT_EQ(TakeError(), "");
  }
  std::string Property(const char* name) {
    char* const value = winnow_property_value(db_, name);
    const std::string copy = value == nullptr ? "" : value;
    winnow_free(value);
    return copy;
  }
  std::string Taken(char* text) {
    const std::string copy = text == nullptr ? "" : text;
    winnow_free(text);
    return copy;
  }
};

TEST_F(CApiFilters, RefilteringTellsOfEachFileAndEndsWhereItIsTold) {
  Fill();
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  auto* const note = +[](void* state, uint64_t done, uint64_t left) -> uint8_t {
    auto* const list = static_cast<std::vector<std::pair<uint64_t, uint64_t>>*>(state);
    list->emplace_back(done, left);
    return list->size() == 1 ? 0 : 1;
  };
  winnow_refilter(db_, "ribbon:0.1%", nullptr, 0, note, &seen, &err_);
  EXPECT_NE(TakeError().find("as the caller asked for"), std::string::npos);
  winnow_refilter(db_, nullptr, nullptr, 0, note, &seen, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, uint64_t>>{{1, 1}, {1, 0}}));
  EXPECT_EQ(Property("winnow.filter"), "ribbon:0.1%");
  for (int i = 0; i < 200; i++) EXPECT_EQ(Get("key" + std::to_string(1000 + i)), "value");

  winnow_columnfamily_t* const family = winnow_create_column_family(db_, options_, "other", &err_);
  winnow_refilter_cf(db_, family, "cuckoo:12", "prefix:3", 0, nullptr, nullptr, &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_refilter_cf(db_, family, "blom:10", nullptr, 0, nullptr, nullptr, &err_);
  EXPECT_NE(TakeError().find("bloom"), std::string::npos);
  winnow_columnfamily_destroy(family);
}

TEST_F(CApiFilters, PlansAreTextOrAnError) {
  Fill();
  EXPECT_NE(Taken(winnow_plan_filters(db_, 1 << 20, &err_)).find("default"), std::string::npos);
  EXPECT_EQ(Taken(winnow_plan_filters_json(db_, 1 << 20, &err_)).front(), '{');
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(winnow_plan_filters(db_, 0, &err_), nullptr);
  EXPECT_NE(TakeError(), "");
}

TEST_F(CApiFilters, TracesCountTheirCalls) {
  Fill();
  winnow_start_trace(db_, "/calls", 0, 0, 1, &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_start_trace(db_, "/more", 0, 0, 1, &err_);
  EXPECT_NE(TakeError(), "") << "one is being recorded";
  for (int i = 0; i < 7; i++) Get("key1000");
  EXPECT_EQ(winnow_end_trace(db_, &err_), 7u);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(winnow_end_trace(db_, &err_), 0u);
  EXPECT_NE(TakeError(), "");
  winnow_start_trace(db_, "/more", 0, 0, 0, &err_);
  EXPECT_NE(TakeError(), "") << "one key in none";
}

}  // namespace
}  // namespace winnow
