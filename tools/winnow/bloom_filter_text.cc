#include "tools/winnow/bloom_filter_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "engine/base/status.h"

namespace winnow::cli {
namespace {

// Alone they mean the same (FamilySchema::bloom_filter), the prefixes beside rows.
std::vector<std::string> PartsOf(const std::string& item) {
  absl::string_view value = item;
  if (item == "ROW") return {"component:1"};
  if (item == "ROWCOL") return {"component:1", "component:2"};
  if (absl::ConsumePrefix(&value, "ROWPREFIX_FIXED_LENGTH:")) {
    return {absl::StrCat("prefix:", value)};
  }
  if (absl::ConsumePrefix(&value, "ROWPREFIX_DELIMITED:")) {
    return {absl::StrCat("delimiter:", value)};
  }
  return {item};
}

bool TakesCharacter(std::string_view item) {
  return item.ends_with("delimiter:") || item == "ROWPREFIX_DELIMITED:";
}

}  // namespace

std::string BloomFilterOf(const std::vector<std::string>& items) {
  if (items.size() == 1) return items.front();
  std::vector<std::string> parts;
  for (const std::string& item : items) {
    for (std::string& part : PartsOf(item)) {
      if (std::find(parts.begin(), parts.end(), part) != parts.end()) continue;
      parts.push_back(std::move(part));
    }
  }
  return absl::StrJoin(parts, "+");
}

std::vector<std::string> BloomFilterItems(std::string_view text) {
  std::vector<std::string> items(1);
  for (const char letter : text) {
    if (letter == ',' && !TakesCharacter(items.back())) {
      items.emplace_back();
    } else {
      items.back().push_back(letter);
    }
  }
  return items;
}

}  // namespace winnow::cli
