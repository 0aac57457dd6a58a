#!/usr/bin/env bash
# leveldb_programs_test.sh CMAKE CXX BUILD CC [COMPILED]: programs that were written for LevelDB, its C
# functions used to the last. Compiled anew: they find Winnow by its name or, where component leveldb
# is installed, by LevelDB's. COMPILED is the C program linked to LevelDB's own library.
set -euo pipefail
# shellcheck source=tests/install/installation.sh
source "$(dirname "$0")/installation.sh"
readonly build="$3" c_compiler="$4" compiled="${5-}"
prefix="$work/prefix"

install_into "$prefix" "$build"
libraries="$(library_folder "$prefix")"
[ -z "$(find "$prefix" -iname 'leveldb*.cmake' -o -name leveldb.pc -o -name libleveldb.a \
  -o -path "$prefix/include/leveldb")" ] ||
  fail "LevelDB's names are installed without being asked for"
build_outside outside_leveldb_program "$prefix"
expect "stored value" "$work/outside_leveldb_program/outside_leveldb_program" "$work/db"

install_into "$prefix" "$build" leveldb
build_outside outside_leveldb_by_name "$prefix"
expect "stored value" "$work/outside_leveldb_by_name/cxx_program" "$work/cxx_db"
expect "Winnow" "$work/outside_leveldb_by_name/c_program" "$work/c_db"
# Word splitting is meant: these are several flags.
# shellcheck disable=SC2046
quietly "$c_compiler" "$here/bindings/leveldb_c_program.c" -o "$work/c_program" \
  $(flags "$prefix" --cflags --libs 'leveldb >= 1.20')
LD_LIBRARY_PATH="$libraries" expect "Winnow" "$work/c_program" "$work/pkg_config_db"

# With neither, as a Makefile does it and as a CMake find module does.
quietly "$compiler" -I"$prefix/include" "$here/outside_leveldb_program/outside_leveldb_program.cc" \
  -L"$libraries" -lleveldb -o "$work/cxx_program"
expect "stored value" "$work/cxx_program" "$work/plain_cxx_db"
quietly "$c_compiler" -I"$prefix/include" "$here/bindings/leveldb_c_program.c" \
  "$libraries/libleveldb.a" -o "$work/plain_c_program"
expect "Winnow" "$work/plain_c_program" "$work/plain_c_db"

# With LevelDB's C functions by their own names, linked where FFI programs load them.
echo 'int leveldb_major_version(void); int main(void) { return leveldb_major_version() - 1; }' \
  >"$work/own_names.c"
quietly "$c_compiler" "$work/own_names.c" -L"$libraries/winnow/leveldb" -lleveldb -o "$work/own_names"
LD_LIBRARY_PATH="$libraries/winnow/leveldb" expect "" "$work/own_names"

# Not compiled anew: the program that uses LevelDB uses Winnow, and has no other LevelDB beside it.
if [ -n "$compiled" ]; then
  expect "LevelDB" "$compiled" "$work/leveldb_db"
  LD_LIBRARY_PATH="$libraries/winnow/leveldb" expect "Winnow" "$compiled" "$work/winnow_db"
fi
