#!/usr/bin/env bash
# -DLevelDB_ROOT=DIR finds a LevelDB as it was built, installed or not. A library with one function
# stands for it.
# find_leveldb_test.sh PROJECT CMAKE C++-COMPILER
set -euo pipefail
project="$1" cmake="$2" compiler="$3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# tree DIR NUMBER: a tree with LevelDB's header, and an object file whose function gives NUMBER.
tree() {
  mkdir -p "$1/include/leveldb"
  echo 'int Answer();' >"$1/include/leveldb/db.h"
  echo "int Answer() { return $2; }" >"$1/leveldb.cc"
  "$compiler" -fPIC -c "$1/leveldb.cc" -o "$1/leveldb.o"
}

# As CMake builds it and as it installs it.
tree "$work/built" 1
mkdir "$work/built/build"
ar rc "$work/built/build/libleveldb.a" "$work/built/leveldb.o"
tree "$work/installed" 2
mkdir -p "$work/installed/lib/cmake/leveldb"
ar rc "$work/installed/lib/libleveldb.a" "$work/installed/leveldb.o"
cat >"$work/installed/lib/cmake/leveldb/leveldbConfig.cmake" <<'TEXT'
add_library(leveldb::leveldb STATIC IMPORTED)
get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set_target_properties(leveldb::leveldb PROPERTIES IMPORTED_LOCATION ${prefix}/lib/libleveldb.a
  INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
TEXT
mkdir "$work/empty"

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Threads REQUIRED)
include($project/tools/peer/find_leveldb.cmake)
find_leveldb()
find_leveldb()  # each of the project's folders asks
add_executable(user user.cc)
target_link_libraries(user PRIVATE leveldb::leveldb)
TEXT
cat >"$work/user/user.cc" <<'TEXT'
#include <leveldb/db.h>
int main() { return Answer(); }
TEXT

configure() {
  "$cmake" -S "$work/user" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DLevelDB_ROOT="$work/$1" >"$work/log" 2>&1
}

# One build folder for all: what an earlier configuration has found does not stick.
expect() {
  local code=0
  configure "$1" && "$cmake" --build "$work/build" >>"$work/log" 2>&1 || {
    cat "$work/log"
    echo "LevelDB_ROOT=$1 does not build"
    exit 1
  }
  "$work/build/user" || code=$?
  [ "$code" -eq "$2" ] || { echo "LevelDB_ROOT=$1 gave the library $code"; exit 1; }
}
expect built 1
expect installed 2
expect built 1

if configure empty; then
  echo "an empty folder passed for a LevelDB"
  exit 1
fi
tr -s '\n ' ' ' <"$work/log" | grep -qF 'holds neither an installed LevelDB nor' || {
  cat "$work/log"
  exit 1
}
