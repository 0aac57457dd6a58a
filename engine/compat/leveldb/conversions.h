// Between LevelDB's types and Winnow's.
#ifndef WINNOW_ENGINE_COMPAT_LEVELDB_CONVERSIONS_H_
#define WINNOW_ENGINE_COMPAT_LEVELDB_CONVERSIONS_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "winnow/cache.h"
#include "winnow/comparator.h"
#include "winnow/file_system.h"
#include "winnow/filter_policy.h"

namespace leveldb {

class Cache;
class Comparator;
class Env;
class FilterPolicy;

inline std::string_view ToView(const Slice& slice) { return {slice.data(), slice.size()}; }
inline Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }

// The status of LevelDB's that comes nearest.
Status ToStatus(const absl::Status& status);
// The reverse.
absl::Status FromStatus(const Status& status);

// An order of LevelDB's for Winnow. `equal_keys_have_equal_bytes`: what the program promises.
std::unique_ptr<const winnow::Comparator> WrapComparator(const Comparator* comparator,
                                                         bool equal_keys_have_equal_bytes);

// The spec of a policy that NewBloomFilterPolicy made; empty for all others.
std::string_view BloomSpec(const FilterPolicy* policy);
// Any other policy.
std::unique_ptr<const winnow::FilterPolicy> WrapFilterPolicy(const FilterPolicy* policy);

// The block cache behind a cache that NewLRUCache made; null for all others.
std::shared_ptr<winnow::BlockCache> BlockCacheOf(Cache* cache);

// The files of an Env of the program's own.
std::unique_ptr<winnow::FileSystem> WrapEnv(Env* env);

}  // namespace leveldb

#endif  // WINNOW_ENGINE_COMPAT_LEVELDB_CONVERSIONS_H_
