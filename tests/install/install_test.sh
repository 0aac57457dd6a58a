#!/usr/bin/env bash
# Installs the build into an empty prefix and compiles and runs outside programs against it: with
# find_package, with pkg-config, as C and as LevelDB programs, and against a build of the filter
# library alone; the RocksDB filter policy, if it was built, as an archive and as a shared library.
set -euo pipefail
readonly source="$1" build="$2" cmake="$3" compiler="$4"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# quietly COMMAND…: shows what it printed only if it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || {
    printf 'failed: %s\n' "$*" >&2
    cat "$work/log" >&2
    exit 1
  }
}

# expect WANTED COMMAND…: the command succeeds and prints exactly this.
expect() {
  local wanted="$1" printed
  shift
  printed="$("$@")" || { printf 'failed: %s\n' "$*" >&2; exit 1; }
  [ "$printed" = "$wanted" ] || {
    printf '%s printed "%s", not "%s"\n' "$*" "$printed" "$wanted" >&2
    exit 1
  }
}

# build_outside PROGRAM PREFIX: with find_package, into $work/PROGRAM.
build_outside() {
  quietly "$cmake" -S "$here/$1" -B "$work/$1" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$2"
  quietly "$cmake" --build "$work/$1"
}

# build_with_pkg_config MODULE PROGRAM PREFIX: into $work/PROGRAM.pkg-config.
build_with_pkg_config() {
  local flags
  flags="$(PKG_CONFIG_PATH="$(echo "$3"/lib*/pkgconfig "$3"/lib/*/pkgconfig | tr ' ' ':')" \
    pkg-config --cflags --libs "$1")"
  # Word splitting is meant: these are several flags.
  # shellcheck disable=SC2086
  quietly "$compiler" -std=c++20 "$here/$2/$2.cc" -o "$work/$2.pkg-config" $flags
}

# library_folder PREFIX: where libwinnow.so was installed.
library_folder() { dirname "$(find "$1" -name libwinnow.so.0)"; }

quietly "$cmake" --install "$build" --prefix "$work/whole"
build_outside outside_program "$work/whole"
expect "stored value" "$work/outside_program/outside_program" "$work/db"
export LD_LIBRARY_PATH
LD_LIBRARY_PATH="$(library_folder "$work/whole")"
build_with_pkg_config winnow outside_program "$work/whole"
expect "stored value" "$work/outside_program.pkg-config" "$work/db"
# What the headers of filters call in line must be shown by the library too.
build_with_pkg_config winnow outside_filter_program "$work/whole"
expect "filtered" "$work/outside_filter_program.pkg-config"
build_outside outside_c_program "$work/whole"
expect "stored value" "$work/outside_c_program/outside_c_program" "$work/c_db"
build_outside outside_leveldb_program "$work/whole"
expect "stored value" "$work/outside_leveldb_program/outside_leveldb_program" "$work/leveldb_db"
build_with_pkg_config winnow-leveldb outside_leveldb_program "$work/whole"
expect "stored value" "$work/outside_leveldb_program.pkg-config" "$work/leveldb_db"
unset LD_LIBRARY_PATH
expect "stored value" "$work/whole/bin/winnow" get key --db="$work/db"

if [ -f "$work/whole/include/winnow/filter/rocksdb.h" ]; then
  build_outside outside_rocksdb_program "$work/whole"
  for program in outside_rocksdb_program outside_with_plugin outside_all_static; do
    [ -x "$work/outside_rocksdb_program/$program" ] || continue
    rm -rf "$work/rocksdb"
    expect "filtered" "$work/outside_rocksdb_program/$program" "$work/rocksdb"
  done
fi

# Not optimised: whether it can be built and installed alone does not depend on that.
quietly "$cmake" -S "$source" -B "$work/filter_build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -DWINNOW_ENGINE=OFF -DWINNOW_ROCKSDB=OFF -DWINNOW_TESTS=OFF -DWINNOW_BENCH=OFF \
  -DCMAKE_CXX_COMPILER="$compiler"
quietly "$cmake" --build "$work/filter_build"
quietly "$cmake" --install "$work/filter_build" --prefix "$work/filter_alone"
build_outside outside_filter_program "$work/filter_alone"
expect "filtered" "$work/outside_filter_program/outside_filter_program"
build_with_pkg_config winnow-filter outside_filter_program "$work/filter_alone"
expect "filtered" "$work/outside_filter_program.pkg-config"
