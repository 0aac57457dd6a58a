#include "filter/rocksdb/bits_builder.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "filter/format/block_format.h"
#include "filter/rocksdb/diagnostics.h"
#include "filter/rocksdb/filter_contents.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter::internal {
namespace {

using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;

// All that is not payload.
constexpr size_t kFrameBytes = kBlockHeaderBytes + kUnitHeaderBytes + kZeroProbes.size();

// Sizes of filters are fitted from here on: those of smaller ones go in steps of their own.
constexpr size_t kLeastFittedBytes = 2048;
// Kinds that are built in columns or slots take up to half a percent more than their bits.
constexpr double kShareThatNoKindExceeds = 0.995;
// Of the rate that a spec asks for; formulas are no more exact.
constexpr double kToleratedExcess = 1.01;

// Copies `block` with a trailer into memory that RocksDB will own.
Slice GiveAway(std::string_view block, std::string_view trailer,
               std::unique_ptr<const char[]>* buf) {
  auto copy = std::make_unique_for_overwrite<char[]>(block.size() + trailer.size());
  std::memcpy(copy.get(), block.data(), block.size());
  std::memcpy(copy.get() + block.size(), trailer.data(), trailer.size());
  const Slice slice(copy.get(), block.size() + trailer.size());
  *buf = std::move(copy);
  return slice;
}

double FprOfBits(const FilterSpec& spec, size_t num_keys, double bits_per_key) {
  const BitsPerKeyRange range = AllowedBitsPerKey(spec);
  return ExpectedFpr(spec, std::clamp(bits_per_key, range.min, range.max), num_keys);
}

// Of a block of `bytes` with the trailer.
double FprOfSize(const FilterSpec& spec, size_t num_keys, size_t bytes) {
  if (num_keys == 0) return 0;
  if (bytes <= kFrameBytes) return 1;
  return FprOfBits(spec, num_keys,
                   static_cast<double>(bytes - kFrameBytes) * 8 / static_cast<double>(num_keys));
}

// The size with which so many keys reach `fpr`, from `bytes` up, which is what they would take in a
// large filter: few keys take more.
size_t BytesThatReach(double fpr, size_t bytes, const std::function<double(size_t)>& fpr_of) {
  size_t reaching = bytes;
  while (reaching < 2 * bytes && fpr_of(reaching) > fpr * kToleratedExcess) reaching += bytes / 64;
  return reaching;
}

Slice GiveUnbuilt(std::unique_ptr<const char[]>* buf) { return GiveAway(kUnbuiltFilter, "", buf); }

}  // namespace

BitsBuilder::BitsBuilder(BitsBuilderSettings settings, std::unique_ptr<ConstructionCharge> charge)
    : settings_(std::move(settings)),
      bits_per_key_(settings_.level_aware == nullptr ? SpecBitsPerKey(settings_.spec)
                                                     : settings_.level_aware->ExpectedBitsPerKey()),
      charge_(std::move(charge)) {
  BeginFilter();
}

BitsBuilder::~BitsBuilder() = default;

void BitsBuilder::BeginFilter() {
  auto builder = FilterBuilder::Create(settings_.spec, settings_.hash_seed, settings_.limits,
                                       settings_.context);
  // The spec was checked when the policy was made.
  builder_ = builder.ok() ? *std::move(builder) : nullptr;
  checksum_ = 0;
  last_alt_.reset();
}

// With detect_corruption the exclusive or of all hashes is kept beside them: if memory changes one
// before the filter is built, HashesAreIntact sees it. FilterBuilder drops a hash that equals the
// one before, which then must not be in the checksum either.
void BitsBuilder::AddHash(uint64_t hash) {
  if (builder_ == nullptr) return;
  if (charge_ != nullptr && builder_->memory_bytes() + bytes_given_ > charge_->asked_bytes()) {
    ChargeMemory(0);
  }
  if (!settings_.detect_corruption) {
    builder_->Add(hash);
    return;
  }
  const uint64_t num_before = builder_->num_added();
  builder_->Add(hash);
  if (builder_->num_added() != num_before) checksum_ ^= hash;
}

void BitsBuilder::AddKey(const Slice& key) {
  AddHash(HashKey({key.data(), key.size()}, settings_.hash_seed));
}

#if WINNOW_ROCKSDB_HAS_ADD_KEY_AND_ALT
// RocksDB calls this for a key and its prefix where both are to be in the filter. Keys come sorted,
// so that those of one prefix follow each other: comparing with the last prefix is enough to add it
// once.
void BitsBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  const uint64_t alt_hash = HashKey({alt.data(), alt.size()}, settings_.hash_seed);
  const uint64_t key_hash = HashKey({key.data(), key.size()}, settings_.hash_seed);
  if (last_alt_ != alt_hash) AddHash(alt_hash);
  last_alt_ = alt_hash;
  if (key_hash != alt_hash) AddHash(key_hash);
}
#endif

void BitsBuilder::ChargeMemory(uint64_t bytes_besides) {
  if (charge_ == nullptr) return;
  const uint64_t finished_bytes = finished_ == nullptr ? 0 : finished_->memory_bytes();
  charge_->Set((builder_ == nullptr ? 0 : builder_->memory_bytes()) + finished_bytes +
               bytes_given_ + bytes_besides);
}

size_t BitsBuilder::EstimateEntriesAdded() {
  return builder_ == nullptr ? 0 : builder_->num_added();
}

Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* buf) { return Finish(buf, nullptr); }

bool BitsBuilder::HashesAreIntact() const {
  uint64_t checksum = 0;
  builder_->ForEachHash([&checksum](uint64_t hash) { checksum ^= hash; });
  return checksum == checksum_;
}

BuiltFilter BitsBuilder::BuildFitted(bool is_spread) {
  const size_t num_keys = builder_->num_added();
  size_t wanted = builder_->EstimatedBlockBytes() + kZeroProbes.size();
  if (settings_.fit == nullptr || wanted < kLeastFittedBytes) return builder_->Finish();
  const FilterSpec spec = ChooseFilter(settings_.spec, settings_.context, num_keys).spec;
  const auto fpr_of = [&](size_t bytes) { return FprOfSize(spec, num_keys, bytes); };
  if (spec.fpr != 0 && !is_spread) wanted = BytesThatReach(spec.fpr, wanted, fpr_of);
  const size_t fitted = settings_.fit->Fit(wanted, fpr_of);
  if (fitted == wanted) return builder_->Finish();
  // A little less, since what spills over the end of an allocation costs the next larger one.
  const double payload_bytes =
      static_cast<double>(fitted - kFrameBytes - kAlignment) * kShareThatNoKindExceeds;
  const double bits_per_key = payload_bytes * 8 / static_cast<double>(num_keys);
  // That little can be the step to the next higher rate.
  const double wanted_fpr = fpr_of(wanted);
  if (!settings_.fit->CanBear(wanted_fpr, FprOfBits(spec, num_keys, bits_per_key))) {
    return builder_->Finish();
  }
  builder_->set_bits_per_key(bits_per_key);
  BuiltFilter built = builder_->Finish();
  settings_.fit->Count(wanted_fpr, built.expected_fpr);
  return built;
}

BuiltFilter BitsBuilder::Build() {
  if (settings_.level_aware == nullptr) return BuildFitted(/*is_spread=*/false);
  const std::optional<double> bits = settings_.level_aware->BitsPerKey(builder_->num_added());
  if (bits) builder_->set_bits_per_key(*bits);
  BuiltFilter built = BuildFitted(/*is_spread=*/bits.has_value());
  settings_.level_aware->Built(built.block);
  return built;
}

Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* buf, Status* status) {
  Status ignored;
  if (status == nullptr) status = &ignored;
  *status = Status::OK();
  finished_.reset();
  // RocksDB writes whatever comes back: what stands for "no filter" must be bytes that every
  // reader, this one included, takes for "may contain".
  if (builder_ == nullptr) return GiveUnbuilt(buf);
  if (settings_.detect_corruption && !HashesAreIntact()) {
    *status = Status::Corruption("Winnow filter", "hashes changed in memory before it was built");
    BeginFilter();
    return GiveUnbuilt(buf);
  }

  // The block, and then its copy for RocksDB, beside the hashes.
  ChargeMemory(2 * builder_->EstimatedBlockBytes());
  const BuiltFilter built = Build();
  bytes_given_ += built.block.size();
  CountBuiltFilter(built.fell_back);
  if (settings_.detect_corruption) {
    finished_ = std::move(builder_);
  } else {
    builder_.reset();
  }
  // Partitions share one builder: the next one begins with nothing.
  BeginFilter();
  ChargeMemory(0);
  return built.block.empty() ? GiveUnbuilt(buf) : GiveAway(built.block, kZeroProbes, buf);
}

Status BitsBuilder::MaybePostVerify(const Slice& filter_content) {
  if (finished_ == nullptr) return Status::OK();
  // The hashes are let go whatever comes of it.
  const std::unique_ptr<FilterBuilder> finished = std::move(finished_);
  const std::string_view contents(filter_content.data(), filter_content.size());
  if (contents == kUnbuiltFilter) return Status::OK();
  FilterState state;
  // What has lost its trailer is no block at all.
  const FilterReader reader = FilterReader::Open(FilterBlockIn(contents).value_or(""), &state);
  bool all_found = state.code == FilterStateCode::kOk;
  finished->ForEachHash([&](uint64_t hash) { all_found &= reader.MayContain(hash); });
  if (all_found) return Status::OK();
  return Status::Corruption("Winnow filter", state.reason.empty()
                                                 ? "a key that was added is not found in it"
                                                 : state.reason);
}

size_t BitsBuilder::ApproximateNumEntries(size_t bytes) {
  // The inverse of CalculateSpace: how many keys fit; rounded down, so that a partition is not too
  // large.
  if (bytes <= kFrameBytes) return 0;
  const size_t payload_bytes = (bytes - kFrameBytes) / kAlignment * kAlignment;
  return static_cast<size_t>(static_cast<double>(payload_bytes) * 8 / bits_per_key_);
}

size_t BitsBuilder::CalculateSpace(size_t num_entries) {
  const double payload_bytes = static_cast<double>(num_entries) * bits_per_key_ / 8;
  return kFrameBytes + PaddedPayloadBytes(static_cast<uint64_t>(payload_bytes));
}

double BitsBuilder::EstimatedFpRate(size_t num_entries, size_t bytes) {
  const FilterSpec spec = ChooseFilter(settings_.spec, settings_.context, num_entries).spec;
  return FprOfSize(spec, num_entries, bytes);
}

}  // namespace winnow::filter::internal
