// Filters in files of their own: filter blocks, saved application filters, Guava's bytes.
#ifndef WINNOW_TOOLS_WINNOW_FILTER_FILE_H_
#define WINNOW_TOOLS_WINNOW_FILTER_FILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/filter/blocked_bloom_filter.h"
#include "winnow/filter/bloom_filter.h"
#include "winnow/filter/counting_bloom_filter.h"
#include "winnow/filter/cuckoo_filter.h"
#include "winnow/filter/guava_bloom_filter.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/redis_bitmap.h"
#include "winnow/filter/redisbloom_filter.h"
#include "winnow/filter/scalable_bloom_filter.h"

namespace winnow::cli {

// A filter block, as SSTables have it, with the bytes that its reader borrows.
class BlockFilter {
 public:
  // DataLoss or Unimplemented with the reader's reason.
  static absl::StatusOr<BlockFilter> Open(std::string bytes);

  bool Contains(std::string_view key) const {
    return reader_.MayContain(filter::HashKey(key, reader_.hash_seed()));
  }
  filter::FilterInfo Describe() const { return reader_.Describe(); }

 private:
  BlockFilter(std::unique_ptr<const std::string> bytes, filter::FilterReader reader)
      : bytes_(std::move(bytes)), reader_(reader) {}

  std::unique_ptr<const std::string> bytes_;  // on the heap: stays in place when this is moved
  filter::FilterReader reader_;
};

using AnyFilter = std::variant<BlockFilter, filter::BloomFilter, filter::BlockedBloomFilter,
                               filter::CountingBloomFilter, filter::ScalableBloomFilter,
                               filter::CuckooFilter, filter::GuavaBloomFilter, filter::RedisBitmap,
                               filter::RedisBloomFilter, filter::RedisBloomCuckooFilter>;

struct FilterFile {
  AnyFilter filter;
  // "winnow filter block", "winnow saved filter" or "guava".
  std::string_view format;
  uint64_t num_bytes;
};

// Reads a file of any of the formats, telling them apart by their first bytes, and Guava's, which
// has no mark of its own, by its length. Errors name the file.
absl::StatusOr<FilterFile> ReadFilterFile(const std::string& path);

// What is known about it, as members in the order in which people read them.
Json DescribeFilter(const FilterFile& file);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_FILTER_FILE_H_
