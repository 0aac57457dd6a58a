#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstdlib>

#include "bench/filter/filter_set.h"
#include "filter/rocksdb/filter_bits_interface.h"
#include "winnow/filter/rocksdb.h"

namespace winnow::bench {
namespace {

using rocksdb::Slice;

Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

struct Policy {
  explicit Policy(const std::string& spec) {
    const double bits = std::strtod(spec.c_str() + spec.find(':') + 1, nullptr);
    const bool is_ribbon = spec.find("ribbon") != std::string::npos;
    options.format_version = 5;
    options.optimize_filters_for_memory = false;
    constexpr std::string_view kOurs = "rocksdb.winnow.";
    if (spec.rfind(kOurs, 0) == 0) {
      options.filter_policy = filter::NewFilterPolicy(spec.substr(kOurs.size())).value();
    } else {
      options.filter_policy.reset(is_ribbon ? rocksdb::NewRibbonFilterPolicy(bits, -1)
                                            : rocksdb::NewBloomFilterPolicy(bits));
    }
    context = std::make_unique<rocksdb::FilterBuildingContext>(options);
    context->level_at_creation = 6;
  }

  Slice Build(const Size& size, uint64_t filter, std::unique_ptr<const char[]>* buffer) const {
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        options.filter_policy->GetBuilderWithContext(*context));
    const uint64_t first = size.FirstKey(filter);
    for (uint64_t i = 0; i < size.keys_per_filter; ++i) {
      const Key key(first + 2 * i);
      builder->AddKey(Slice(key.bytes.data(), key.bytes.size()));
    }
    return builder->Finish(buffer);
  }

  rocksdb::BlockBasedTableOptions options;
  std::unique_ptr<rocksdb::FilterBuildingContext> context;
};

}  // namespace

// Hidden, as what it holds is.
struct __attribute__((visibility("hidden"))) RocksDbSet::State {
  explicit State(const std::string& spec) : policy(spec) {}

  Policy policy;
  std::vector<FilterCopy> copies;
  std::vector<std::unique_ptr<rocksdb::FilterBitsReader>> readers;
  double bits_per_key = 0;
};

RocksDbSet::RocksDbSet(const std::string& spec, const Size& size, Placement placement)
    : state_(std::make_unique<State>(spec)) {
  // Readers point into the copies, which must not move.
  state_->copies.reserve(size.num_filters);
  for (uint64_t i = 0; i < size.num_filters; ++i) {
    if (i < size.num_distinct) {
      std::unique_ptr<const char[]> buffer;
      const Slice built = state_->policy.Build(size, i, &buffer);
      state_->copies.emplace_back(std::string_view(built.data(), built.size()), placement);
    } else {
      state_->copies.emplace_back(state_->copies[i - size.num_distinct].view(), placement);
    }
    state_->readers.emplace_back(state_->policy.options.filter_policy->GetFilterBitsReader(
        ToSlice(state_->copies.back().view())));
  }
  state_->bits_per_key = static_cast<double>(state_->copies[0].view().size()) * 8 /
                         static_cast<double>(size.keys_per_filter);
}

RocksDbSet::~RocksDbSet() = default;

uint64_t RocksDbSet::BuildOnce(const std::string& spec, const Size& size, uint64_t filter) {
  std::unique_ptr<const char[]> buffer;
  return Policy(spec).Build(size, filter, &buffer).size();
}

bool RocksDbSet::MayContain(uint64_t filter, const Key& key) const {
  return state_->readers[filter]->MayMatch(Slice(key.bytes.data(), key.bytes.size()));
}

void RocksDbSet::MayContainBatch(uint64_t filter, KeyViews& keys, size_t first,
                                 bool* answers) const {
  state_->readers[filter]->MayMatch(static_cast<int>(kBatch), &keys.pointers_[first], answers);
}

double RocksDbSet::bits_per_key() const { return state_->bits_per_key; }

}  // namespace winnow::bench
