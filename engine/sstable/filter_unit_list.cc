#include "engine/sstable/filter_unit_list.h"

#include <bit>

#include "engine/base/coding.h"
#include "winnow/filter/reader.h"

namespace winnow {

// For each unit its bytes, its rate and its checksum, eight bytes each (FORMAT.md, "Filter block").
std::string EncodeUnitList(std::span<const filter::BuiltUnit> units) {
  std::string bytes;
  for (const filter::BuiltUnit& unit : units) {
    PutFixed64(&bytes, unit.bytes);
    PutFixed64(&bytes, std::bit_cast<uint64_t>(unit.expected_fpr));
    PutFixed64(&bytes, unit.checksum);
  }
  return bytes;
}

bool DecodeUnitList(std::string_view bytes, std::vector<filter::BuiltUnit>* units) {
  units->clear();
  const size_t count = bytes.size() / kListedUnitBytes;
  if (bytes.size() % kListedUnitBytes != 0 || count == 0 || count > kMostListedUnits) return false;
  for (; !bytes.empty(); bytes.remove_prefix(kListedUnitBytes)) {
    filter::BuiltUnit& unit = units->emplace_back();
    unit.bytes = DecodeFixed64(bytes.data());
    unit.expected_fpr = std::bit_cast<double>(DecodeFixed64(bytes.data() + 8));
    unit.checksum = DecodeFixed64(bytes.data() + 16);
    // Written so that what is not a number is refused too.
    if (!(unit.expected_fpr >= 0 && unit.expected_fpr <= 1)) return false;
  }
  return true;
}

// Without a sum that could wrap.
bool UnitsFillBlock(std::span<const filter::BuiltUnit> units, uint64_t block_bytes) {
  if (block_bytes < filter::kFilterBlockHeaderBytes) return false;
  uint64_t left = block_bytes - filter::kFilterBlockHeaderBytes;
  for (const filter::BuiltUnit& unit : units) {
    if (unit.bytes == 0 || unit.bytes > left) return false;
    left -= unit.bytes;
  }
  return left == 0;
}

}  // namespace winnow
