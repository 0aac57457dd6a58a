// LevelDB's property names, answered from Winnow's.
#ifndef WINNOW_ENGINE_COMPAT_LEVELDB_PROPERTIES_H_
#define WINNOW_ENGINE_COMPAT_LEVELDB_PROPERTIES_H_

#include <optional>
#include <string>
#include <string_view>

#include "winnow/db.h"

namespace winnow {

// The value of "leveldb.num-files-at-level<N>", "leveldb.stats", "leveldb.sstables" or
// "leveldb.approximate-memory-usage", or of a property of Winnow's own; nothing for other names.
// leveldb.stats has LevelDB's heading and its first three columns; the others are not known for
// each level and are "-".
// `compact_range_error` is shown by "winnow.background-error".
std::optional<std::string> LevelDbProperty(DB& db, ColumnFamily* family, std::string_view name,
                                           const absl::Status& compact_range_error);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_LEVELDB_PROPERTIES_H_
