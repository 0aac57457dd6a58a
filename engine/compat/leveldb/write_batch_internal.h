// What the database may ask of a batch.
#ifndef WINNOW_ENGINE_COMPAT_LEVELDB_WRITE_BATCH_INTERNAL_H_
#define WINNOW_ENGINE_COMPAT_LEVELDB_WRITE_BATCH_INTERNAL_H_

#include "leveldb/write_batch.h"
#include "winnow/write_batch.h"

namespace leveldb {

class WriteBatchInternal {
 public:
  static const winnow::WriteBatch& Get(const WriteBatch& batch) { return *batch.batch_; }
};

}  // namespace leveldb

#endif  // WINNOW_ENGINE_COMPAT_LEVELDB_WRITE_BATCH_INTERNAL_H_
