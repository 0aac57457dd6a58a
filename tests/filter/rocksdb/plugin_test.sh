#!/usr/bin/env bash
# plugin_test.sh CMAKE CXX BUILD SOURCE: builds the adapter as README.md says, by RocksDB's plugin
# mechanism (in stand_in/, a tree that takes plugins as RocksDB does), with an installed Winnow where
# no other RocksDB and no codec is to be found.
set -euo pipefail
readonly cmake="$1" compiler="$2" build="$3" source="$4"
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

quietly "$cmake" --install "$build" --prefix "$work/prefix" --component development
cp -r "$here/stand_in" "$work/rocksdb"
mkdir "$work/rocksdb/plugin"
ln -s "$source/filter/rocksdb" "$work/rocksdb/plugin/winnow"
quietly "$cmake" -S "$work/rocksdb" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DROCKSDB_PLUGINS=winnow -DCMAKE_CXX_STANDARD=20 -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DSTAND_IN_MAJOR=10 -DSTAND_IN_MINOR=9 -DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_Snappy=ON -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=4
quietly "$cmake" --build "$work/build"
printed="$("$work/build/registered_plugins")"
[ "$printed" = "winnow: registered" ] || { echo "$printed" >&2; exit 1; }
