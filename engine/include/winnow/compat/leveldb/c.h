/* LevelDB's C interface, on Winnow: see winnow/leveldb_c.h. */
#ifndef WINNOW_COMPAT_LEVELDB_C_H_
#define WINNOW_COMPAT_LEVELDB_C_H_

#include "winnow/leveldb_c.h"

#endif /* WINNOW_COMPAT_LEVELDB_C_H_ */
