#include <utility>

#include "bench/filter/filter_set.h"
#include "winnow/filter/builder.h"

namespace winnow::bench {

std::string WinnowSet::Build(const std::string& spec, const Size& size, uint64_t filter) {
  auto builder = *filter::FilterBuilder::Create(*filter::ParseFilterSpec(spec), kSeed);
  // RocksDB's builders do not look their keys up again either.
  builder->set_verify(false);
  const uint64_t first = size.FirstKey(filter);
  for (uint64_t i = 0; i < size.keys_per_filter; ++i) {
    builder->Add(filter::HashKey(Key(first + 2 * i).view(), kSeed));
  }
  return std::move(builder->Finish().block);
}

WinnowSet::WinnowSet(const std::string& spec, const Size& size, Placement placement) {
  blocks_.reserve(size.num_filters);
  for (uint64_t i = 0; i < size.num_filters; ++i) {
    if (i < size.num_distinct) {
      blocks_.emplace_back(Build(spec, size, i), placement);
    } else {
      blocks_.emplace_back(blocks_[i - size.num_distinct].view(), placement);
    }
  }
  for (const FilterCopy& block : blocks_) {
    readers_.push_back(filter::FilterReader::Open(block.view(), nullptr));
  }
  bits_per_key_ =
      static_cast<double>(blocks_[0].view().size()) * 8 / static_cast<double>(size.keys_per_filter);
}

uint64_t WinnowSet::BuildOnce(const std::string& spec, const Size& size, uint64_t filter) {
  return Build(spec, size, filter).size();
}

}  // namespace winnow::bench
