// LevelDB's export macro: Winnow's compatibility library is linked statically and needs none.
#ifndef WINNOW_COMPAT_LEVELDB_EXPORT_H_
#define WINNOW_COMPAT_LEVELDB_EXPORT_H_

#ifndef LEVELDB_EXPORT
#define LEVELDB_EXPORT
#endif

#endif  // WINNOW_COMPAT_LEVELDB_EXPORT_H_
