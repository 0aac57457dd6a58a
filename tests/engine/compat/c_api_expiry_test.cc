// The C API's compaction filters and clocks, made of callbacks, and time to live.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

// Removes values "remove", makes "changed" of "change" and the empty value of "empty"; gives a
// number that means nothing for "odd".
struct Decider {
  int destroyed = 0;
  std::vector<std::string> shown;

  static int Filter(void* state, const char* family, size_t family_length, int level,
                    uint8_t is_last_level, const char* key, size_t key_length, const char* value,
                    size_t value_length, char** new_value, size_t* new_length) {
    auto* self = static_cast<Decider*>(state);
    const std::string given(value, value_length);
    self->shown.push_back(std::string(family, family_length) + std::to_string(level) +
                          (is_last_level != 0 ? "!" : "?") + std::string(key, key_length));
    if (given == "remove") return winnow_compaction_remove;
    if (given == "empty") return winnow_compaction_change;
    if (given == "odd") return 77;
    if (given != "change") return winnow_compaction_keep;
    *new_value = static_cast<char*>(std::malloc(7));
    std::memcpy(*new_value, "changed", 7);
    *new_length = 7;
    return winnow_compaction_change;
  }
  static void Destroy(void* state) { static_cast<Decider*>(state)->destroyed++; }
};

struct CountedClock {
  int destroyed = 0;
  std::atomic<uint64_t> now = 1'000'000'000;  // background threads ask too

  static uint64_t Now(void* state) { return static_cast<CountedClock*>(state)->now; }
  static void Destroy(void* state) { static_cast<CountedClock*>(state)->destroyed++; }
};

using CApiExpiry = CApiTest;

TEST_F(CApiExpiry, AFilterOfCallbacksDecidesAndGoesWithItsDatabase) {
  Decider decider;
  winnow_compactionfilter_t* filter =
      winnow_compactionfilter_create(&decider, Decider::Destroy, Decider::Filter);
  winnow_options_set_compaction_filter(options_, filter);
  winnow_compactionfilter_destroy(filter);
  Reopen();
  for (const char* value : {"change", "empty", "keep", "odd", "remove"}) Put(value, value);
  winnow_compact_range_checked(db_, nullptr, 0, nullptr, 0, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(decider.shown,
            (std::vector<std::string>{"default6!change", "default6!empty", "default6!keep",
                                      "default6!odd", "default6!remove"}));
  EXPECT_EQ(Get("change"), "changed");
  EXPECT_EQ(Get("empty"), "");
  EXPECT_EQ(Get("keep"), "keep");
  EXPECT_EQ(Get("odd"), "odd");
  EXPECT_EQ(Get("remove"), "absent");
  winnow_options_set_compaction_filter(options_, nullptr);
  EXPECT_EQ(decider.destroyed, 0);
  Reopen();
  EXPECT_EQ(decider.destroyed, 1);
}

TEST_F(CApiExpiry, DataExpiresByTheGivenClock) {
  CountedClock counted;
  winnow_clock_t* clock = winnow_clock_create(&counted, CountedClock::Destroy, CountedClock::Now);
  winnow_options_set_clock(options_, clock);
  winnow_clock_destroy(clock);
  winnow_options_set(options_, "ttl_seconds", "10", &err_);
  EXPECT_EQ(TakeError(), "");
  Reopen();
  Put("key", "value");
  counted.now += 9'999'999;
  EXPECT_EQ(Get("key"), "value");
  counted.now++;
  EXPECT_EQ(Get("key"), "absent");
  char* explained = winnow_explain(db_, "key", 3, &err_);
  EXPECT_NE(std::string(explained).find("expired at 1970-01-01T00:16:50Z"), std::string::npos)
      << explained;
  winnow_free(explained);
  winnow_options_set(options_, "ttl_seconds", "99999999999999999999", &err_);
  EXPECT_NE(TakeError().find("ttl_seconds"), std::string::npos);
  winnow_options_set_clock(options_, nullptr);
  winnow_close(db_);
  EXPECT_EQ(counted.destroyed, 1);
  db_ = nullptr;
}

}  // namespace
}  // namespace winnow
