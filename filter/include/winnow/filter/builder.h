// Builds the filter block of one SSTable from the hashes of its filter keys.
//
//   auto builder = FilterBuilder::Create(*ParseFilterSpec("blocked_bloom:10"), seed);
//   for (std::string_view key : keys) (*builder)->Add(HashKey(key, seed));
//   BuiltFilter built = (*builder)->Finish();
//   file.Append(built.block);

#ifndef WINNOW_FILTER_BUILDER_H_
#define WINNOW_FILTER_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/filter/choice.h"
#include "winnow/filter/internal/hash_list.h"
#include "winnow/filter/spec.h"

namespace winnow::filter {

namespace internal {
struct KindOperations;
}

// A unit of a filter block: it refutes keys by itself, and can be loaded without the others.
struct BuiltUnit {
  uint64_t bytes = 0;       // of the block, its header included
  double expected_fpr = 1;  // of this unit alone
  uint64_t checksum = 0;    // by which FilterReader::OpenUnit knows it again

  friend bool operator==(const BuiltUnit&, const BuiltUnit&) = default;
};

// What Finish gives.
struct BuiltFilter {
  // The filter block, for FilterReader::Open. Empty for kNone: write no filter then.
  std::string block;
  // The kind that was built: the spec's, or what was fallen back to.
  FilterKind kind = FilterKind::kNone;
  // Distinct hashes. The Bloom kinds drop only duplicates that were added one after the other,
  // since others do not hurt them, and count the rest.
  uint64_t num_keys = 0;
  // Those of the block, in their order behind its header (kFilterBlockHeaderBytes); none for kNone.
  std::vector<BuiltUnit> units;
  // The false-positive rate that theory gives for this very filter; 1 for kNone.
  double expected_fpr = 1;
  // Why this kind: a sentence for logs, "as asked for" unless the spec was "auto" or fell back.
  std::string reason;
  // The spec's kind could not be built, so that `kind` is blocked_bloom, or kNone if that failed
  // its own check as well. Only faulty memory and adversarial hashes do that; count it where people
  // can see it.
  bool fell_back = false;
  // The most memory that building held at one time, the block itself not counted.
  uint64_t peak_temporary_bytes = 0;
};

// Bounds of building. The defaults are right for a store; tests choose others.
struct FilterBuildLimits {
  // Filters of more payload bits than this are cut into shards by hash, each built by itself: one
  // shard's work stays inside a core's own cache, and bounds the temporary memory. Shards of
  // binary_fuse and ribbon have at least 16,384 keys, whatever this says.
  uint64_t max_shard_bits = uint64_t{1} << 23;
  // How often a kind is tried, each time with another salt, before the fall-back.
  int max_attempts = 12;
  // Called with each finished block before it is verified, and may damage it: how tests force
  // retries and fall-backs.
  std::function<void(FilterKind kind, int attempt, std::string* block)> on_block_built;
};

// For one thread. Memory: 8 bytes for each hash added until Finish; none for borrowed ones.
class FilterBuilder {
 public:
  // `hash_seed` is the seed that HashKey was given: it is recorded in the block, not used.
  // `context` matters to "auto" alone. InvalidArgument if ValidateFilterSpec refuses the spec.
  static absl::StatusOr<std::unique_ptr<FilterBuilder>> Create(const FilterSpec& spec,
                                                               uint64_t hash_seed,
                                                               FilterBuildLimits limits = {},
                                                               FilterBuildContext context = {});

  FilterBuilder(const FilterBuilder&) = delete;
  FilterBuilder& operator=(const FilterBuilder&) = delete;
  ~FilterBuilder();

  // Adds a hash, in any order; duplicates are harmless.
  void Add(uint64_t key_hash) {
    if (key_hash == previous_ && !hashes_.empty()) return;
    previous_ = key_hash;
    hashes_.Append(key_hash);
  }

  // Adds hashes without copying them: the Bloom kinds are then built in two thirds of the time.
  // They are only read, and must stay where they are, unchanged, until Finish has returned and for
  // as long as ForEachHash is called. Duplicates that follow each other are not dropped.
  void AddBorrowed(std::span<const uint64_t> key_hashes) {
    if (key_hashes.empty()) return;
    hashes_.Borrow(key_hashes.data(), key_hashes.size());
    previous_ = key_hashes.back();
  }

  // Hashes kept so far: those added, without duplicates that followed each other.
  uint64_t num_added() const { return hashes_.size(); }
  // Bytes held now.
  size_t memory_bytes() const { return hashes_.memory_bytes(); }
  // The size in bytes that the block would have if Finish were called now; an estimate.
  uint64_t EstimatedBlockBytes() const;

  // Calls visit(uint64_t) for each hash kept: until Finish for those added, in the order in which
  // they came; after it for those of the finished filter, in no order.
  template <typename Visitor>
  void ForEachHash(Visitor visit) const {
    hashes_.ForEachRun([&visit](const uint64_t* run, size_t count) {
      for (size_t i = 0; i < count; ++i) visit(run[i]);
    });
  }

  // Whether Finish looks up every hash in the finished block, and falls back if one is missing. By
  // default only for the kinds that are intricate to build: all but the Bloom kinds.
  void set_verify(bool verify) { verify_ = verify; }

  // An amount in place of the spec's, for whoever knows the number of keys before he decides; held
  // to what the kind allows.
  void set_bits_per_key(double bits_per_key) { bits_per_key_ = bits_per_key; }

  // Several units in place of one, with these bits per key, each held to what the kind allows: all
  // that the block holds is then their product's rate, and a reader may do without some of them. At
  // most kMaxUnitsToBuild; empty: one unit of the spec's amount, or of set_bits_per_key's.
  static constexpr size_t kMaxUnitsToBuild = 3;
  void set_unit_bits(std::vector<double> bits_per_key) { unit_bits_ = std::move(bits_per_key); }

  // Builds the block, once. Never fails: it tries other salts, then blocked_bloom, then no filter.
  BuiltFilter Finish();

 private:
  FilterBuilder(const FilterSpec& spec, uint64_t hash_seed, FilterBuildLimits limits,
                FilterBuildContext context);

  // The block's units, of one kind; false if one of them could not be built.
  bool BuildKind(const internal::KindOperations& operations, const std::vector<double>& unit_bits,
                 BuiltFilter* built);
  bool BuildUnit(const internal::KindOperations& operations, double bits_per_key, int unit,
                 BuiltFilter* built, std::string* block);

  FilterSpec spec_;
  uint64_t hash_seed_;
  FilterBuildLimits limits_;
  FilterBuildContext context_;
  std::optional<bool> verify_;          // not set: as the kind wants it
  std::optional<double> bits_per_key_;  // not set: as the spec says
  std::vector<double> unit_bits_;       // empty: one unit
  internal::HashList hashes_;
  uint64_t previous_ = 0;  // meaningful once there is a hash: every value is a legal one
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_BUILDER_H_
