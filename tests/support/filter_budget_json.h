// The property winnow.filter-budget-json, and when it says what will stay so.
#ifndef WINNOW_TESTS_SUPPORT_FILTER_BUDGET_JSON_H_
#define WINNOW_TESTS_SUPPORT_FILTER_BUDGET_JSON_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <thread>

#include "winnow/db.h"

namespace winnow {

inline nlohmann::json FilterBudgetJson(DB& db) {
  return nlohmann::json::parse(*db.GetProperty("winnow.filter-budget-json"));
}

// The same once nothing is in memory but filters of the tree's tables. A compaction's thread lets
// go of the tables that it replaced after whoever waited for it has gone on.
inline nlohmann::json SettledFilterBudgetJson(DB& db) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    nlohmann::json budget = FilterBudgetJson(db);
    uint64_t of_levels = 0;
    for (const nlohmann::json& row : budget["levels"]) {
      of_levels += row["resident_bytes"].get<uint64_t>();
    }
    if (budget["resident_bytes"] == of_levels) return budget;
    if (std::chrono::steady_clock::now() >= end) {
      ADD_FAILURE() << "filters of replaced tables stay in memory: " << budget;
      return budget;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_FILTER_BUDGET_JSON_H_
