#include "tools/round_trip/absent_keys.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace winnow::round_trip {
namespace {

constexpr size_t kNumVariants = 6;

// The variants of a key, tried one after the other until one is absent.
std::string Variant(const std::string& key, size_t number) {
  std::string variant = key;
  switch (number % kNumVariants) {
    case 0:
      variant.back() = static_cast<char>(variant.back() ^ 1);
      break;
    case 1:
      variant += '+';
      break;
    case 2:
      variant[variant.size() / 2] = static_cast<char>(variant[variant.size() / 2] ^ 2);
      break;
    case 3:
      variant += '~';
      break;
    case 4:
      variant.pop_back();
      break;
    default:
      variant.back() = static_cast<char>(variant.back() ^ 4);
      break;
  }
  return variant;
}

bool IsAbsentInsideTheRange(const std::vector<Record>& records, const std::string& key) {
  if (key <= records.front().key || key >= records.back().key) return false;
  const auto at = std::lower_bound(
      records.begin(), records.end(), key,
      [](const Record& record, const std::string& wanted) { return record.key < wanted; });
  return at->key != key;
}

}  // namespace

std::vector<std::string> DeriveAbsentKeys(const std::vector<Record>& records) {
  std::vector<std::string> absent;
  absent.reserve(records.size());
  for (size_t index = 0; index < records.size(); index++) {
    if (records[index].key.empty()) continue;
    for (size_t attempt = 0; attempt < kNumVariants; attempt++) {
      std::string candidate = Variant(records[index].key, index + attempt);
      if (IsAbsentInsideTheRange(records, candidate)) {
        absent.push_back(std::move(candidate));
        break;
      }
    }
  }
  return absent;
}

}  // namespace winnow::round_trip
