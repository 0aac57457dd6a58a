#!/usr/bin/env bash
# install_test.sh CMAKE CXX BUILD: installs the build into an empty prefix, and compiles and runs
# outside programs that find it with find_package: C++, C, and with the RocksDB filter policy, if it
# was built, as an archive and as a shared library.
set -euo pipefail
# shellcheck source=tests/install/installation.sh
source "$(dirname "$0")/installation.sh"
readonly build="$3"

install_into "$work/whole" "$build"
build_outside outside_program "$work/whole"
expect "stored value" "$work/outside_program/outside_program" "$work/db"
expect "stored value" "$work/outside_program/outside_with_shared" "$work/db"
expect "stored value" "$work/whole/bin/winnow" get key --db="$work/db"
build_outside outside_c_program "$work/whole"
expect "stored value" "$work/outside_c_program/outside_c_program" "$work/c_db"
expect "stored value" "$work/outside_c_program/outside_with_c_alone" "$work/c_db"

if [ -f "$work/whole/include/winnow/filter/rocksdb.h" ]; then
  # The RocksDB that the filter policy was built for, where the machine has another one besides.
  mapfile -t options < <(cached_options "$build" RocksDB_DIR)
  build_outside outside_rocksdb_program "$work/whole" "${options[@]}"
  programs=(outside_rocksdb_program)
  [ -z "$(find "$work/whole" -name 'libwinnow_rocksdb.so*')" ] || programs+=(outside_with_plugin)
  [ ! -x "$work/outside_rocksdb_program/outside_all_static" ] || programs+=(outside_all_static)
  for program in "${programs[@]}"; do
    rm -rf "$work/rocksdb"
    expect "filtered" "$work/outside_rocksdb_program/$program" "$work/rocksdb"
  done
fi
