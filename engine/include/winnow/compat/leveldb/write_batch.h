// Updates that are applied together or not at all.
#ifndef WINNOW_COMPAT_LEVELDB_WRITE_BATCH_H_
#define WINNOW_COMPAT_LEVELDB_WRITE_BATCH_H_

#include <cstddef>
#include <memory>
#include <string>

#include "leveldb/export.h"
#include "leveldb/status.h"

namespace winnow {
class WriteBatch;
}

namespace leveldb {

class Slice;

// For one thread at a time; const methods for many. Later updates of a key win.
class WriteBatch {
 public:
  class Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  WriteBatch();
  WriteBatch(const WriteBatch& other);
  WriteBatch& operator=(const WriteBatch& other);
  ~WriteBatch();

  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);
  void Clear();
  // Bytes of the batch as it goes into the log.
  size_t ApproximateSize() const;
  // Adds the updates of `source` behind these.
  void Append(const WriteBatch& source);
  // Calls the handler for each update in order.
  Status Iterate(Handler* handler) const;

 private:
  friend class WriteBatchInternal;
  std::unique_ptr<winnow::WriteBatch> batch_;
};

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_WRITE_BATCH_H_
