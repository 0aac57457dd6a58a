// CF.* of RedisBloom: 8-bit fingerprints, a byte a slot, and tables that are chained. Of a key a
// table knows the fingerprint and two buckets, hash and hash ^ (fingerprint * 5bd1e995), modulo the
// table's number of buckets. Since that is a power of two in every table, a bucket of a larger
// table tells the bucket of a smaller one, and compaction needs no keys.
//
// Every table adds its own false positives: after growth the rates of all add up.

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "filter/dynamic/allocate_bytes.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/redisbloom_chunks.h"
#include "filter/dynamic/saved_format.h"
#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter {
namespace {

// Four fields of 8 bytes and three of 2, see FORMAT.md.
constexpr uint64_t kCuckooHeadBytes = 38;
// The module's cf-max-expansions as it is by default.
constexpr uint64_t kMaxTables = 32;
constexpr uint16_t kMaxTableExpansion = 32768;
// 0 marks a free slot.
constexpr uint64_t kFingerprints = 255;

absl::Status CheckOptions(const RedisBloomCuckooOptions& options) {
  if (options.bucket_size == 0 || options.bucket_size > 255) {
    return absl::InvalidArgumentError(absl::StrCat(
        "RedisBloomCuckooFilter: bucket size must be 1 to 255, got ", options.bucket_size));
  }
  if (options.max_iterations == 0) {
    return absl::InvalidArgumentError("RedisBloomCuckooFilter: iterations must be 1 to 65535");
  }
  if (options.expansion > kMaxTableExpansion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "RedisBloomCuckooFilter: expansion must be 0 to 32768, got ", options.expansion));
  }
  if (options.capacity < 2 * uint64_t{options.bucket_size} ||
      options.capacity > kMaxRedisBloomCapacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("RedisBloomCuckooFilter: capacity must be ", 2 * options.bucket_size, " to ",
                     kMaxRedisBloomCapacity, ", got ", options.capacity));
  }
  return absl::OkStatus();
}

// num_buckets * expansion^i * bucket_size, or nothing beyond what a filter may have.
std::optional<uint64_t> TableBytes(uint64_t num_buckets, const RedisBloomCuckooOptions& options,
                                   uint64_t i) {
  // No wrap: the first product is at most 2^30 * 255, and each further one is at most 2^42 * 2^15
  // before it is looked at.
  uint64_t bytes = num_buckets * options.bucket_size;
  // With an expansion of 1 all tables have one size, and with 0 there is only the first.
  for (uint64_t power = 0; power < i && options.expansion > 1; ++power) {
    bytes *= options.expansion;
    if (bytes > internal::kMaxFilterBytes) return std::nullopt;
  }
  return bytes;
}

uint64_t CountUsed(const std::string& table) {
  return table.size() - static_cast<size_t>(std::count(table.begin(), table.end(), 0));
}

// DataLoss if the tables do not hold as many items as their head says.
absl::Status CheckItems(const std::vector<std::string>& tables, uint64_t num_items) {
  uint64_t used = 0;
  for (const std::string& table : tables) used += CountUsed(table);
  if (used == num_items) return absl::OkStatus();
  return internal::BadDump(absl::StrCat(num_items, " items, but its tables have ", used));
}

}  // namespace

absl::StatusOr<RedisBloomCuckooFilter> RedisBloomCuckooFilter::Create(
    const RedisBloomCuckooOptions& options) {
  const absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  RedisBloomCuckooOptions rounded = options;
  // Rounded as the module does: in every table the number of buckets must be a power of two, or
  // fingerprints could not move between tables.
  if (options.expansion != 0) rounded.expansion = std::bit_ceil(options.expansion);
  RedisBloomCuckooFilter filter(rounded);
  filter.num_buckets_ =
      std::bit_ceil(std::max<uint64_t>(1, options.capacity / options.bucket_size));
  const absl::Status added = filter.AddTable();
  if (!added.ok()) return added;
  return filter;
}

absl::Status RedisBloomCuckooFilter::AddTable() {
  const std::optional<uint64_t> bytes = TableBytes(num_buckets_, options_, tables_.size());
  if (!bytes.has_value()) return internal::OutOfMemory(num_buckets_, options_.bucket_size);
  absl::StatusOr<std::string> table = internal::AllocateBytes(*bytes);
  if (!table.ok()) return table.status();
  return CatchOutOfMemory([&]() -> absl::Status {
    tables_.push_back(*std::move(table));
    return absl::OkStatus();
  });
}

RedisBloomCuckooFilter::Entry RedisBloomCuckooFilter::EntryOf(std::string_view key) {
  const uint64_t hash = MurmurHash64A(key, 0);
  // The fingerprint and the bucket come from one hash: the module's choice, which leaves them
  // correlated.
  const auto fingerprint = static_cast<uint8_t>(hash % kFingerprints + 1);
  return {fingerprint, hash, OtherHash(fingerprint, hash)};
}

// Its own inverse. Only the lower bits count in the end, as numbers of buckets are powers of two.
uint64_t RedisBloomCuckooFilter::OtherHash(uint8_t fingerprint, uint64_t hash) {
  return hash ^ fingerprint * uint64_t{0x5bd1e995};
}

size_t RedisBloomCuckooFilter::SlotOf(const std::string& table, uint64_t hash) const {
  return hash % BucketsOf(table) * options_.bucket_size;
}

// One memchr over at most 255 bytes, whether it looks for a fingerprint or for a free slot.
size_t RedisBloomCuckooFilter::FindInBucket(const std::string& table, uint64_t hash,
                                            uint8_t fingerprint) const {
  const std::string_view bucket =
      std::string_view(table).substr(SlotOf(table, hash), options_.bucket_size);
  const size_t slot = bucket.find(static_cast<char>(fingerprint));
  return slot == std::string_view::npos ? std::string::npos : SlotOf(table, hash) + slot;
}

size_t RedisBloomCuckooFilter::Find(const std::string& table, const Entry& entry,
                                    uint8_t fingerprint) const {
  const size_t slot = FindInBucket(table, entry.first, fingerprint);
  return slot != std::string::npos ? slot : FindInBucket(table, entry.second, fingerprint);
}

// A free slot in any table is taken before anything is moved, from the newest table, usually the
// emptiest, to the oldest. Only the newest table is reshuffled. The loop ends: after AddTable the
// new table is empty, so that its first look finds a slot.
absl::Status RedisBloomCuckooFilter::Add(std::string_view key) {
  const Entry entry = EntryOf(key);
  for (;;) {
    for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
      const size_t slot = Find(*table, entry, 0);
      if (slot == std::string::npos) continue;
      (*table)[slot] = static_cast<char>(entry.fingerprint);
      ++num_items_;
      return absl::OkStatus();
    }
    const absl::StatusOr<bool> moved = CatchOutOfMemory(
        [&]() -> absl::StatusOr<bool> { return PutByMoving(entry, &tables_.back()); });
    if (!moved.ok()) return moved.status();
    if (*moved) {
      ++num_items_;
      return absl::OkStatus();
    }
    if (options_.expansion == 0 || tables_.size() >= kMaxTables) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "RedisBloomCuckooFilter: full with ", num_items_, " items in ", tables_.size(),
          options_.expansion == 0 ? " table, and made not to grow" : " tables, the most"));
    }
    const absl::Status added = AddTable();
    if (!added.ok()) return added;
  }
}

// Moves what lies in the slots 0, 1, ... of the buckets on its way, not random ones. If nothing
// comes free, everything is moved back: no key that was accepted is lost.
bool RedisBloomCuckooFilter::PutByMoving(const Entry& entry, std::string* table) {
  // What each slot held, in order: a slot may be visited twice, so that undoing must go backwards.
  // With room for all of them before the first: a fingerprint on its way would be lost.
  std::vector<std::pair<size_t, char>> before;
  before.reserve(options_.max_iterations);
  uint64_t bucket = entry.first % BucketsOf(*table);
  uint8_t moving = entry.fingerprint;
  for (uint32_t i = 0; i < options_.max_iterations; ++i) {
    const size_t victim = bucket * options_.bucket_size + i % options_.bucket_size;
    before.emplace_back(victim, (*table)[victim]);
    const auto displaced = static_cast<uint8_t>((*table)[victim]);
    (*table)[victim] = static_cast<char>(moving);
    moving = displaced;
    // From the bucket's number alone: the upper bits of the hash are lost, and do not count modulo
    // a power of two.
    bucket = OtherHash(moving, bucket) % BucketsOf(*table);
    const size_t free = FindInBucket(*table, bucket, 0);
    if (free != std::string::npos) {
      (*table)[free] = static_cast<char>(moving);
      return true;
    }
  }
  for (auto change = before.rbegin(); change != before.rend(); ++change) {
    (*table)[change->first] = change->second;
  }
  return false;
}

bool RedisBloomCuckooFilter::Remove(std::string_view key) {
  const Entry entry = EntryOf(key);
  for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
    const size_t slot = Find(*table, entry, entry.fingerprint);
    if (slot == std::string::npos) continue;
    (*table)[slot] = 0;
    --num_items_;
    ++num_deletes_;
    // Compaction is O(slots * tables): once in a tenth of the items its cost is spread over many
    // deletions.
    if (tables_.size() > 1 && num_deletes_ > num_items_ / 10) Compact();
    return true;
  }
  return false;
}

// Moves fingerprints to older tables, from the newest table on, until one cannot be emptied.
void RedisBloomCuckooFilter::Compact() {
  for (size_t newest = tables_.size() - 1; newest > 0; --newest) {
    std::string& table = tables_[newest];
    bool is_empty = true;
    for (size_t slot = 0; slot < table.size(); ++slot) {
      const auto fingerprint = static_cast<uint8_t>(table[slot]);
      if (fingerprint == 0) continue;
      const uint64_t bucket = slot / options_.bucket_size;
      const Entry entry = {fingerprint, bucket, OtherHash(fingerprint, bucket)};
      bool moved = false;
      for (size_t older = 0; older < newest && !moved; ++older) {
        // The number of a bucket is all that is left of the hash: enough where the older table has
        // no more buckets.
        const size_t free = Find(tables_[older], entry, 0);
        if (free == std::string::npos) continue;
        tables_[older][free] = static_cast<char>(fingerprint);
        table[slot] = 0;
        moved = true;
      }
      // One that cannot move stays, but the loop goes on: what did move makes queries no dearer,
      // and a later compaction finds less to do.
      is_empty &= moved;
    }
    // As the module does: an older table has only been filled up further.
    if (!is_empty) break;
    tables_.pop_back();
  }
  num_deletes_ = 0;
}

bool RedisBloomCuckooFilter::Contains(std::string_view key) const {
  const Entry entry = EntryOf(key);
  return std::any_of(tables_.begin(), tables_.end(), [&](const std::string& table) {
    return Find(table, entry, entry.fingerprint) != std::string::npos;
  });
}

uint64_t RedisBloomCuckooFilter::Count(std::string_view key) const {
  const Entry entry = EntryOf(key);
  uint64_t count = 0;
  for (const std::string& table : tables_) {
    for (const uint64_t hash : {entry.first, entry.second}) {
      const auto begin = table.begin() + static_cast<std::ptrdiff_t>(SlotOf(table, hash));
      count += static_cast<uint64_t>(
          std::count(begin, begin + options_.bucket_size, static_cast<char>(entry.fingerprint)));
      // Both buckets may be one, whose copies count once.
      if (SlotOf(table, entry.first) == SlotOf(table, entry.second)) break;
    }
  }
  return count;
}

double RedisBloomCuckooFilter::ExpectedFpr() const {
  // Each table adds the slots of two buckets, as full as it is.
  double slots_compared = 0;
  for (const std::string& table : tables_) {
    slots_compared += 2.0 * options_.bucket_size * static_cast<double>(CountUsed(table)) /
                      static_cast<double>(table.size());
  }
  // 1 - (1 - 1/255)^slots, with the digits of small rates kept.
  return -std::expm1(slots_compared * std::log1p(-1.0 / kFingerprints));
}

uint64_t RedisBloomCuckooFilter::memory_bytes() const {
  uint64_t sum = 0;
  for (const std::string& table : tables_) sum += table.size();
  return sum;
}

std::string RedisBloomCuckooFilter::Head() const {
  std::string head;
  // Packed without gaps and in the machine's order, which is little-endian: the C structure that
  // the module copies.
  for (const uint64_t field : {num_items_, num_buckets_, num_deletes_, uint64_t{tables_.size()}}) {
    internal::AppendPacked(field, &head);
  }
  for (const uint16_t field : {options_.bucket_size, options_.max_iterations, options_.expansion}) {
    internal::AppendPacked(field, &head);
  }
  return head;
}

absl::StatusOr<RedisBloomCuckooFilter> RedisBloomCuckooFilter::ParseHead(
    std::string_view head, std::vector<uint64_t>* table_bytes) {
  if (head.size() != kCuckooHeadBytes) {
    return internal::BadDump(absl::StrCat("a head of ", head.size(), " bytes"));
  }
  internal::PackedReader fields(head);
  RedisBloomCuckooOptions options;
  const auto num_items = fields.Next<uint64_t>();
  const auto num_buckets = fields.Next<uint64_t>();
  const auto num_deletes = fields.Next<uint64_t>();
  const auto num_tables = fields.Next<uint64_t>();
  options.bucket_size = fields.Next<uint16_t>();
  options.max_iterations = fields.Next<uint16_t>();
  options.expansion = fields.Next<uint16_t>();
  // CF.INSERT looks at the limit once a command: a filter may have one table more than that.
  if (num_buckets == 0 || !std::has_single_bit(num_buckets) ||
      num_buckets > kMaxRedisBloomCapacity || num_tables == 0 || num_tables > 2 * kMaxTables ||
      options.bucket_size == 0 || options.bucket_size > 255 || options.max_iterations == 0 ||
      options.expansion > kMaxTableExpansion ||
      (options.expansion != 0 && !std::has_single_bit(options.expansion))) {
    return internal::BadDump(absl::StrCat(num_tables, " tables, the first of ", num_buckets,
                                          " buckets of ", options.bucket_size, ", expansion ",
                                          options.expansion));
  }
  // Lengths follow from the head; whether as many bytes are there is for CutArrays to say, before
  // memory is taken for a table.
  for (uint64_t i = 0; i < num_tables; ++i) {
    const std::optional<uint64_t> bytes = TableBytes(num_buckets, options, i);
    if (!bytes.has_value()) return internal::BadDump("a table beyond any memory");
    table_bytes->push_back(*bytes);
  }
  RedisBloomCuckooFilter filter(options);
  filter.num_buckets_ = num_buckets;
  filter.num_items_ = num_items;
  filter.num_deletes_ = num_deletes;
  return filter;
}

std::vector<RedisBloomChunk> RedisBloomCuckooFilter::Dump() const {
  const std::vector<std::string_view> arrays(tables_.begin(), tables_.end());
  return internal::ChunksOf(Head(), arrays);
}

absl::StatusOr<RedisBloomCuckooFilter> RedisBloomCuckooFilter::Load(
    std::span<const RedisBloomChunk> chunks) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RedisBloomCuckooFilter> {
    std::string bytes;
    std::vector<std::string_view> arrays;
    absl::StatusOr<RedisBloomCuckooFilter> filter =
        internal::LoadChunks(chunks, ParseHead, &bytes, &arrays);
    if (!filter.ok()) return filter;
    // The arrays lie in `bytes`, which ends with this function: they are copied here.
    filter->tables_.assign(arrays.begin(), arrays.end());
    const absl::Status counted = CheckItems(filter->tables_, filter->num_items_);
    if (!counted.ok()) return counted;
    return filter;
  });
}

std::string RedisBloomCuckooFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kRedisBloomCuckoo;
  header.num_layers = static_cast<uint32_t>(tables_.size());
  header.num_keys = num_items_;
  header.num_slots = num_buckets_;
  internal::SavedFilterWriter writer(header, kCuckooHeadBytes + memory_bytes());
  writer.Append(Head());
  for (const std::string& table : tables_) writer.Append(table);
  return std::move(writer).Finish();
}

absl::StatusOr<RedisBloomCuckooFilter> RedisBloomCuckooFilter::Deserialize(std::string_view bytes) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RedisBloomCuckooFilter> {
    const absl::StatusOr<internal::SavedFilter> saved =
        internal::ParseSavedFilter(bytes, SavedFilterKind::kRedisBloomCuckoo);
    if (!saved.ok()) return saved.status();
    std::vector<uint64_t> lengths;
    absl::StatusOr<RedisBloomCuckooFilter> filter =
        ParseHead(saved->payload.substr(0, kCuckooHeadBytes), &lengths);
    if (!filter.ok()) return filter;
    std::vector<std::string_view> arrays;
    const absl::Status cut =
        internal::CutArrays(saved->payload.substr(kCuckooHeadBytes), lengths, &arrays);
    if (!cut.ok()) return cut;
    if (filter->num_items_ != saved->header.num_keys ||
        lengths.size() != saved->header.num_layers ||
        filter->num_buckets_ != saved->header.num_slots) {
      return internal::InconsistentFields(*saved);
    }
    // Copied out of the caller's bytes.
    filter->tables_.assign(arrays.begin(), arrays.end());
    const absl::Status counted = CheckItems(filter->tables_, filter->num_items_);
    if (!counted.ok()) return counted;
    return filter;
  });
}

}  // namespace winnow::filter
