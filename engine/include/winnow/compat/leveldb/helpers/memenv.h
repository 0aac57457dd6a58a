// LevelDB's Env in memory.
#ifndef WINNOW_COMPAT_LEVELDB_HELPERS_MEMENV_H_
#define WINNOW_COMPAT_LEVELDB_HELPERS_MEMENV_H_

#include "leveldb/export.h"

namespace leveldb {

class Env;

// An Env whose files live in memory, none at first; everything but files it asks of `base_env`,
// which must outlive it. The caller deletes it, after the databases that use it. As in LevelDB
// there are no directories: every one exists, and a name is a whole path.
Env* NewMemEnv(Env* base_env);

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_HELPERS_MEMENV_H_
