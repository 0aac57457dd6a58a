// Part of a stand-in for RocksDB's headers, for compiling the adapter as if RocksDB were of the
// version STAND_IN_MAJOR.STAND_IN_MINOR: what the adapter uses of them, with the differences
// between versions. Not RocksDB's text, and no function does what RocksDB's does.
#pragma once
#include <string>

#include "rocksdb_namespace.h"

#ifndef STAND_IN_MAJOR  // the newest that is known
#define STAND_IN_MAJOR 11
#define STAND_IN_MINOR 9
#endif
#define ROCKSDB_MAJOR STAND_IN_MAJOR
#define ROCKSDB_MINOR STAND_IN_MINOR
#ifndef STAND_IN_PATCH
#define STAND_IN_PATCH 3
#endif
#define ROCKSDB_PATCH STAND_IN_PATCH
#define STAND_IN_VERSION (STAND_IN_MAJOR * 100 + STAND_IN_MINOR)

namespace ROCKSDB_NAMESPACE {
inline std::string GetRocksVersionAsString(bool with_patch = true) {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) +
         (with_patch ? "." + std::to_string(ROCKSDB_PATCH) : "");
}
}  // namespace ROCKSDB_NAMESPACE
