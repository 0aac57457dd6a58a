#!/usr/bin/env bash
# -DRocksDB_ROOT=DIR finds a RocksDB as it was built, installed or not. A library with one function
# stands for it.
# find_rocksdb_test.sh PROJECT CMAKE C++-COMPILER
set -euo pipefail
project="$1" cmake="$2" compiler="$3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# tree DIR NUMBER: a tree with RocksDB's header, and an object file whose function gives NUMBER.
tree() {
  mkdir -p "$1/include/rocksdb"
  echo 'int Answer();' >"$1/include/rocksdb/db.h"
  echo "int Answer() { return $2; }" >"$1/rocksdb.cc"
  "$compiler" -fPIC -c "$1/rocksdb.cc" -o "$1/rocksdb.o"
}

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
mkdir "$work/empty"

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Threads REQUIRED)
include($project/filter/rocksdb/find_rocksdb.cmake)
find_rocksdb()
find_rocksdb()  # each of the project's folders asks
add_executable(user user.cc)
if(TARGET RocksDB::rocksdb-shared)
  target_link_libraries(user PRIVATE RocksDB::rocksdb-shared)
else()
  target_link_libraries(user PRIVATE RocksDB::rocksdb)
endif()
TEXT
cat >"$work/user/user.cc" <<'TEXT'
#include <rocksdb/db.h>
int main() { return Answer(); }
TEXT

configure() {
  "$cmake" -S "$work/user" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_LIBRARY_PATH="$work/installed/lib" -DRocksDB_ROOT="$work/$1" >"$work/log" 2>&1
}

# One build folder for all: what an earlier configuration has found does not stick.
expect() {
  local code=0
  configure "$1" && "$cmake" --build "$work/build" >>"$work/log" 2>&1 || {
    cat "$work/log"
    echo "RocksDB_ROOT=$1 does not build"
    exit 1
  }
  "$work/build/user" || code=$?
  [ "$code" -eq "$2" ] || { echo "RocksDB_ROOT=$1 gave the library $code"; exit 1; }
}
expect make 1
expect cmake 2
expect installed 3
expect make 1

if configure empty; then
  echo "an empty folder passed for a RocksDB"
  exit 1
fi
tr -s '\n ' ' ' <"$work/log" | grep -qF 'holds neither an installed RocksDB nor' || {
  cat "$work/log"
  exit 1
}
