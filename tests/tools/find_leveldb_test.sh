#!/usr/bin/env bash
# -DLevelDB_ROOT=DIR finds a LevelDB as it was built, installed or not.
# find_leveldb_test.sh PROJECT CMAKE C++-COMPILER
set -euo pipefail
project="$1" cmake="$2" compiler="$3"
name=LevelDB folder=leveldb
source "$project/tests/support/found_library.sh"

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

user tools/peer/find_leveldb.cmake <<'TEXT'
find_leveldb()
find_leveldb()  # each of the project's folders asks
add_executable(user user.cc)
target_link_libraries(user PRIVATE leveldb::leveldb)
TEXT
expect built 1
expect installed 2
expect built 1
expect_no_library_in_an_empty_folder
