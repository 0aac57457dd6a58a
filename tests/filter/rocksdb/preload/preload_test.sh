#!/usr/bin/env bash
# What libwinnow_rocksdb_preload.so does to programs that it is preloaded into: with the shared
# RocksDB, without RocksDB, with one of their own.
set -euo pipefail
library="$(realpath "$1")"
filter_of_name="$(realpath "$2")"
readonly library filter_of_name own_rocksdb="$3" own_beside_shared="$4"
fail() { printf '%s\n' "$*" >&2; exit 1; }
stem="$(basename "$library" .so)"
readonly plugin="${stem%_preload}.so"

needed="$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^libc\.so\|^ld-' || true)"
[ -z "$needed" ] || fail "it needs $needed"
shown="$(nm -D --defined-only "$library")"
[ -z "$shown" ] || fail "it shows $shown"

printed="$(LD_PRELOAD="$library" "$filter_of_name" winnow.cuckoo:1% 2>&1)" || fail "no filter: $printed"
[ "$printed" = winnow.cuckoo:1% ] || fail "a program with RocksDB has $printed"
if "$filter_of_name" winnow.cuckoo:1% >/dev/null 2>&1; then fail "it has the filter without us"; fi
# The plug-in lies beside it, wherever a program was started.
(cd "$(dirname "$library")" && LD_PRELOAD="./$(basename "$library")" "$filter_of_name" winnow.bloom:8) >/dev/null ||
  fail "not found by a relative path"

maps="$(LD_PRELOAD="$library" cat /proc/self/maps 2>&1)"
grep -q "$(basename "$library")" <<<"$maps" || fail "it is not preloaded: $maps"
! grep -q "librocksdb\|$plugin" <<<"$maps" || fail "RocksDB was brought into a program without it"

for program in "$own_rocksdb" "$own_beside_shared"; do
  printed="$(LD_PRELOAD="$library" "$program" 2>&1)" || fail "$program: $printed"
  [ "$(head -n 1 <<<"$printed")" = "its own" ] || fail "$program calls another RocksDB: $printed"
  grep -q "$(basename "$library")" <<<"$printed" || fail "it is not preloaded into $program"
  ! grep -q "$plugin" <<<"$printed" || fail "the plug-in is in $program"
done
printed="$(LD_PRELOAD="$library" "$own_rocksdb" 2>&1)"
! grep -q librocksdb <<<"$printed" || fail "RocksDB was brought into a program with its own"
