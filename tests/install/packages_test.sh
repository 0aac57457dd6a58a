#!/usr/bin/env bash
# packages_test.sh BUILD CPACK CC: makes the Debian packages, unpacks them into an empty root, and
# uses the tools, the shared library and the headers from there.
set -euo pipefail
readonly build="$1" cpack="$2" compiler="$3"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { printf 'packages_test: %s\n' "$*" >&2; exit 1; }

(cd "$work" && "$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages") \
  >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cpack failed"; }
names=(libwinnow libwinnow-c libwinnow-dev winnow-tools)
if grep -q '^WINNOW_ROCKSDB:BOOL=ON' "$build/CMakeCache.txt" &&
  [ -e "$(find "$build/lib" -name 'libwinnow_rocksdb*.so' -print -quit)" ]; then
  names+=(winnow-rocksdb)
fi
# has TARGET: whether its library was built.
has() { [ -e "$(find "$build/lib" -name "lib$1.a" -print -quit)" ]; }
if has winnow_guard; then names+=(libwinnow-guard-dev); fi
if has winnow_redis; then names+=(libwinnow-redis-dev); fi
for name in "${names[@]}"; do
  package="$(find "$work/packages" -maxdepth 1 -name "${name}_*.deb")"
  [ -n "$package" ] || fail "there is no package $name"
  [ "$(dpkg-deb --field "$package" Package)" = "$name" ] || fail "$package has another name"
  dpkg-deb --extract "$package" "$work/root"
done
if [[ " ${names[*]} " == *" winnow-rocksdb "* ]]; then
  for library in libwinnow_rocksdb.so libwinnow_rocksdb_preload.so; do
    [ -n "$(find "$work/root" -name "$library*" -print -quit)" ] ||
      fail "winnow-rocksdb has no $library"
  done
fi
if has winnow_guard; then
  dpkg-deb --field "$work"/packages/libwinnow-guard-dev_*.deb Depends | grep '^libwinnow-dev (= ' \
    >/dev/null || fail "libwinnow-guard-dev does not need libwinnow-dev"
  if dpkg-deb --contents "$work"/packages/libwinnow-dev_*.deb | grep -i guard >/dev/null; then
    fail "libwinnow-dev holds parts of the guard"
  fi
fi
if has winnow_redis_guard; then
  dpkg-deb --field "$work"/packages/libwinnow-redis-dev_*.deb Depends | grep libwinnow-guard-dev \
    >/dev/null || fail "libwinnow-redis-dev does not need libwinnow-guard-dev"
fi
dpkg-deb --field "$work"/packages/libwinnow_*.deb Depends | grep libzstd >/dev/null ||
  fail "libwinnow does not name the libraries that it needs"
[ -z "$(dpkg-deb --contents "$work"/packages/libwinnow_*.deb | grep -v 'libwinnow.so' |
  grep -vE '/$|/shlibs|LICENSE')" ] || fail "libwinnow holds more than the library"
[ -z "$(dpkg-deb --contents "$work"/packages/libwinnow-c_*.deb |
  grep -vE 'libwinnow-c.so|libleveldb-winnow.so|/winnow/leveldb/libleveldb.so|/$|/shlibs|LICENSE')" ] ||
  fail "libwinnow-c holds more than the libraries for bindings"
if dpkg-deb --field "$work"/packages/libwinnow-c_*.deb Depends | grep -E 'libabsl|libwinnow' >/dev/null &&
  grep -q '^WINNOW_ABSEIL_IN_ONE_FILE:INTERNAL=TRUE' "$build/CMakeCache.txt"; then
  fail "libwinnow-c needs more than the codecs"
fi

library="$(dirname "$(find "$work/root" -name libwinnow.so.0)")"
export LD_LIBRARY_PATH="$library"
"$work/root/usr/bin/winnow" put key "stored value" --db="$work/db"
[ "$("$work/root/usr/bin/winnow" get key --db="$work/db")" = "stored value" ] || fail "winnow get"
"$compiler" -I"$work/root/usr/include" "$here/outside_c_program/outside_c_program.c" \
  -o "$work/c_program" -L"$library" -lwinnow-c
[ "$("$work/c_program" "$work/c_db")" = "stored value" ] || fail "a C program on the packages"
ldd "$work/c_program" | grep "$library/libwinnow-c.so.0" >/dev/null || fail "not linked to libwinnow-c"
