#!/usr/bin/env bash
# -DRocksDB_ROOT=DIR finds a RocksDB as it was built, installed or not.
# find_rocksdb_test.sh PROJECT CMAKE C++-COMPILER
set -euo pipefail
project="$1" cmake="$2" compiler="$3"
name=RocksDB folder=rocksdb
source "$project/tests/support/found_library.sh"

# As `make static_lib`, as CMake without `install`, and as CMake installs what was built with liburing.
tree "$work/make" 1
ar rc "$work/make/librocksdb.a" "$work/make/rocksdb.o"
tree "$work/cmake" 2
mkdir "$work/cmake/build"
"$compiler" -shared "$work/cmake/rocksdb.o" -o "$work/cmake/build/librocksdb.so"
tree "$work/installed" 3
mkdir -p "$work/installed/lib/cmake/rocksdb"
ar rc "$work/installed/lib/librocksdb.a" "$work/installed/rocksdb.o"
ar rc "$work/installed/lib/liburing.a" "$work/installed/rocksdb.o"
cat >"$work/installed/lib/cmake/rocksdb/RocksDBConfig.cmake" <<'TEXT'
add_library(RocksDB::rocksdb STATIC IMPORTED)
get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set_target_properties(RocksDB::rocksdb PROPERTIES IMPORTED_LOCATION ${prefix}/lib/librocksdb.a
  INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include INTERFACE_LINK_LIBRARIES "$<LINK_ONLY:uring::uring>")
TEXT

user filter/rocksdb/find_rocksdb.cmake <<'TEXT'
find_rocksdb()
find_rocksdb()  # each of the project's folders asks
add_executable(user user.cc)
if(TARGET RocksDB::rocksdb-shared)
  target_link_libraries(user PRIVATE RocksDB::rocksdb-shared)
else()
  target_link_libraries(user PRIVATE RocksDB::rocksdb)
endif()
TEXT
expect make 1
expect cmake 2
expect installed 3
expect make 1
expect_no_library_in_an_empty_folder
