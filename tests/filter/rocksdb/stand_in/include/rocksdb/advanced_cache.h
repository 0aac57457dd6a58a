// Since 8.0 it has class Cache; until 7.10 there is no such header.
#pragma once
#include "cache.h"

#if STAND_IN_VERSION >= 800
namespace ROCKSDB_NAMESPACE {
class MemoryAllocator;
enum CompressionType : unsigned char { kNoCompression = 0 };

class Cache {
 public:
  enum class Priority { HIGH, LOW, BOTTOM };
  struct Handle {};
  using ObjectPtr = void*;
  using DeleterFn = void (*)(ObjectPtr object, MemoryAllocator* allocator);
  struct CacheItemHelper {
    explicit CacheItemHelper(CacheEntryRole the_role, DeleterFn deleter = nullptr)
        : del_cb(deleter), role(the_role) {}
    DeleterFn del_cb;
    CacheEntryRole role;
  };
  virtual ~Cache() = default;
#if STAND_IN_VERSION >= 900
  virtual Status Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper,
                        size_t charge, Handle** handle = nullptr, Priority priority = Priority::LOW,
                        const Slice& compressed = Slice(),
                        CompressionType type = kNoCompression) = 0;
#else
  virtual Status Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper,
                        size_t charge, Handle** handle = nullptr,
                        Priority priority = Priority::LOW) = 0;
#endif
  virtual bool Release(Handle* handle, bool erase_if_last_ref = false) = 0;
  virtual uint64_t NewId() = 0;
};
}  // namespace ROCKSDB_NAMESPACE
#endif
