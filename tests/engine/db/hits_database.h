// Databases whose filters of the last level leave memory while look-ups find their keys.
#ifndef WINNOW_TESTS_ENGINE_DB_HITS_DATABASE_H_
#define WINNOW_TESTS_ENGINE_DB_HITS_DATABASE_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/filter_budget_json.h"

namespace winnow::optimize_for_hits {

inline constexpr int kPairs = 20'000;  // of a key that is there and one that is not

inline std::string KeyAt(int i) { return absl::StrCat("key", 1'000'000 + i); }

inline Options ForHits() {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  options.filter = "blocked_bloom:10";
  options.optimize_filters_for_hits = true;
  return options;
}

inline void FillLastLevel(MemoryDb& db) {
  for (int i = 0; i < kPairs; i++) db.Put(KeyAt(2 * i), "v");
  db.CompactAll();
  SettledFilterBudgetJson(*db);
}

// Of so many look-ups, in turn over all keys, this share finds its key.
inline void Ask(DB& db, int times, double present_share) {
  std::string value;
  double present = 0;
  for (int i = 0; i < times; i++) {
    present += present_share;
    const bool wanted = present >= 1;
    if (wanted) present -= 1;
    const int pair = static_cast<int>(int64_t{i} * 7919 % (kPairs - 1));
    const std::string key = KeyAt(2 * pair + (wanted ? 0 : 1));
    ASSERT_EQ(db.Get(ReadOptions(), key, &value).ok(), wanted) << key;
  }
}

// Whatever is set, filters are looked at.
inline void Replan(DB& db) {
  for (const char* bytes : {"2G", "1G"}) {
    const absl::Status set = db.SetOption("max_log_bytes", bytes);
    ASSERT_TRUE(set.ok()) << set;
  }
}

}  // namespace winnow::optimize_for_hits

#endif  // WINNOW_TESTS_ENGINE_DB_HITS_DATABASE_H_
