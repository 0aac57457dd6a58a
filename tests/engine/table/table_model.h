// Tables as their documentation describes them, without anything clever: cells in maps, deletes
// that erase, rules that are applied after every write and whenever time passes.
#ifndef WINNOW_TESTS_ENGINE_TABLE_TABLE_MODEL_H_
#define WINNOW_TESTS_ENGINE_TABLE_TABLE_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "winnow/table.h"

namespace winnow {

// Garbage rules with what they mean: whether a version goes that has so many newer ones and is
// older than a second's multiple by so many milliseconds.
struct NamedGarbageRule {
  std::string_view text;
  bool (*lets_go)(uint64_t newer, uint64_t age_ms);
  std::vector<uint64_t> ages_ms;
};
inline const std::vector<NamedGarbageRule>& NamedGarbageRules() {
  static const std::vector<NamedGarbageRule> kRules = {
      {"maxage=4s and maxversions=1",
       [](uint64_t newer, uint64_t age) { return age > 4000 && newer >= 1; },
       {4000}},
      {"maxversions=4 or (maxage=3s and maxversions=2) or maxage=9s and (maxversions=1 or "
       "maxage=1s)",
       [](uint64_t newer, uint64_t age) {
         return newer >= 4 || (age > 3000 && newer >= 2) || age > 9000;
       },
       {3000, 9000}},
      {"(maxage=2s or maxversions=3) AND (maxversions=2 OR maxage=7s)",
       [](uint64_t newer, uint64_t age) {
         return (age > 2000 || newer >= 3) && (newer >= 2 || age > 7000);
       },
       {2000, 7000}},
      {"maxversions=2", [](uint64_t newer, uint64_t) { return newer >= 2; }, {}},
  };
  return kRules;
}
inline const NamedGarbageRule* FindGarbageRule(const std::string& text) {
  for (const NamedGarbageRule& rule : NamedGarbageRules()) {
    if (rule.text == text) return &rule;
  }
  return nullptr;
}

class TableModel {
 public:
  struct Cell {
    std::string value;
    uint64_t last_moment = std::numeric_limits<uint64_t>::max();  // by its own time to live
  };
  using Column = std::map<uint64_t, Cell, std::greater<>>;               // newest first
  using ColumnName = std::tuple<std::string, std::string, std::string>;  // row, family, qualifier

  void SetSchema(const TableSchema& schema) {
    schema_ = schema;
    std::erase_if(columns_, [&](const auto& column) {
      return FamilyOf(std::get<1>(column.first)) == nullptr;
    });
    ApplyRules();
  }
  // Time never goes back. Rules are applied at every moment at which they may decide otherwise.
  void AdvanceTo(uint64_t now_ms) {
    if (now_ms <= now_ms_) return;
    std::set<uint64_t> moments{now_ms};
    for (const auto& [name, column] : columns_) {
      const FamilySchema& family = *FamilyOf(std::get<1>(name));
      const NamedGarbageRule* const rule = FindGarbageRule(family.garbage_rule);
      for (const auto& [timestamp, cell] : column) {
        std::vector<uint64_t> last_moments{cell.last_moment, timestamp + family.ttl_seconds * 1000};
        for (const uint64_t age_ms : rule != nullptr ? rule->ages_ms : std::vector<uint64_t>()) {
          last_moments.push_back(timestamp + age_ms);
        }
        for (const uint64_t last : last_moments) {
          if (last >= now_ms_ && last < now_ms) moments.insert(last + 1);
        }
      }
    }
    for (const uint64_t moment : moments) {
      now_ms_ = moment;
      ApplyRules();
    }
  }
  uint64_t now_ms() const { return now_ms_; }

  void Put(const ColumnName& name, uint64_t timestamp, std::string value, uint64_t ttl_ms) {
    Cell cell{std::move(value)};
    if (ttl_ms != 0) cell.last_moment = timestamp + ttl_ms;
    columns_[name][timestamp] = cell;
    ApplyRules();
  }
  void DeleteVersion(const ColumnName& name, std::optional<uint64_t> timestamp) {
    const auto column = columns_.find(name);
    if (column == columns_.end()) return;
    column->second.erase(timestamp ? *timestamp : column->second.begin()->first);
    ApplyRules();
  }
  void DeleteColumn(const ColumnName& name, uint64_t timestamp) {
    const auto column = columns_.find(name);
    if (column == columns_.end()) return;
    column->second.erase(column->second.lower_bound(timestamp), column->second.end());
    ApplyRules();
  }
  void DeleteFamilyVersion(const std::string& row, const std::string& family, uint64_t timestamp) {
    for (auto& [name, column] : columns_) {
      if (std::get<0>(name) == row && std::get<1>(name) == family) column.erase(timestamp);
    }
    ApplyRules();
  }
  void DeleteFamily(const std::string& row, const std::string& family, uint64_t timestamp) {
    for (auto& [name, column] : columns_) {
      if (std::get<0>(name) != row || std::get<1>(name) != family) continue;
      column.erase(column.lower_bound(timestamp), column.end());
    }
    ApplyRules();
  }
  void Truncate() { columns_.clear(); }

  const Column* Find(const ColumnName& name) const {
    const auto column = columns_.find(name);
    return column == columns_.end() ? nullptr : &column->second;
  }
  const TableSchema& schema() const { return schema_; }

  // "row/family:qualifier@timestamp=value" of each cell that a read finds, in its order.
  std::vector<std::string> Read(const ScanOptions& options) const {
    std::map<std::string, std::vector<std::string>> rows;
    for (const auto& [name, column] : columns_) {
      const auto& [row, family, qualifier] = name;
      if (!IsAskedFor(options, row, family, qualifier)) continue;
      uint32_t shown = 0;
      for (const auto& [timestamp, cell] : column) {
        if (timestamp < options.min_timestamp || timestamp >= options.end_timestamp) continue;
        if (shown++ == options.max_versions) break;
        rows[row].push_back(Text(row, family, qualifier, timestamp, cell.value));
      }
    }
    std::vector<std::string> cells;
    auto add = [&, count = uint64_t{0}](const std::vector<std::string>& row) mutable {
      if (options.max_rows != 0 && count++ == options.max_rows) return false;
      cells.insert(cells.end(), row.begin(), row.end());
      return true;
    };
    if (options.reverse) {
      for (auto row = rows.rbegin(); row != rows.rend() && add(row->second); ++row) {
      }
    } else {
      for (auto row = rows.begin(); row != rows.end() && add(row->second); ++row) {
      }
    }
    return cells;
  }

  static std::string Text(std::string_view row, std::string_view family, std::string_view qualifier,
                          uint64_t timestamp, std::string_view value) {
    std::string text(row);
    text.append("/").append(family).append(":").append(qualifier);
    return text.append("@").append(std::to_string(timestamp)).append("=").append(value);
  }

 private:
  const FamilySchema* FamilyOf(const std::string& name) const {
    for (const FamilySchema& family : schema_.families) {
      if (family.name == name) return &family;
    }
    return nullptr;
  }

  void ApplyRules() {
    for (auto& [name, column] : columns_) ApplyRules(*FamilyOf(std::get<1>(name)), &column);
    std::erase_if(columns_, [](const auto& column) { return column.second.empty(); });
  }
  void ApplyRules(const FamilySchema& family, Column* column) const {
    std::erase_if(*column, [&](const auto& cell) { return now_ms_ > cell.second.last_moment; });
    uint64_t kept = 0;
    const NamedGarbageRule* const rule = FindGarbageRule(family.garbage_rule);
    std::erase_if(*column, [&](const auto& cell) {
      if (rule != nullptr) {
        const uint64_t age_ms = now_ms_ > cell.first ? now_ms_ - cell.first : 0;
        if (rule->lets_go(kept, age_ms)) return true;
        kept++;
        return false;
      }
      const bool is_old =
          family.ttl_seconds != 0 && now_ms_ > cell.first + family.ttl_seconds * 1000;
      const bool goes = kept >= family.max_versions || (is_old && kept >= family.min_versions);
      if (!goes) kept++;
      return goes;
    });
  }

  static bool IsAskedFor(const ScanOptions& options, const std::string& row,
                         const std::string& family, const std::string& qualifier) {
    if (!row.starts_with(options.row_prefix)) return false;
    if (!options.reverse) {
      if (options.start_row && row < *options.start_row) return false;
      if (options.stop_row && row >= *options.stop_row) return false;
    } else {
      if (options.start_row && row > *options.start_row) return false;
      if (options.stop_row && row <= *options.stop_row) return false;
    }
    if (options.columns.empty()) return true;
    return std::any_of(options.columns.begin(), options.columns.end(), [&](const auto& column) {
      return column.family == family && (!column.qualifier || *column.qualifier == qualifier);
    });
  }

  TableSchema schema_;
  std::map<ColumnName, Column> columns_;
  uint64_t now_ms_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_TABLE_TABLE_MODEL_H_
