#!/usr/bin/env bash
# exported_symbols_test.sh LIBRARY LIST [--write]: compares the names that a shared library shows,
# functions without their arguments, with a checked-in list; --write replaces the list. The names to
# show are chosen in tools/package/libwinnow.version.
set -euo pipefail
readonly library="$1" list="$2"

exported() {
  nm --dynamic --defined-only --demangle "$library" |
    sed -E 's/^[0-9a-f]* +[A-Za-z] //; s/@@?WINNOW_[0-9.]+$//; s/\(.*//; s/\[abi:cxx11\]//' |
    grep -v '^WINNOW_[0-9.]*$' | LC_ALL=C sort -u
}

if [ "${3-}" = --write ]; then
  exported >"$list"
  exit 0
fi
[ "$(objdump -p "$library" | awk '$1 == "SONAME" {print $2}')" = libwinnow.so.0 ] || {
  echo "$library: its SONAME is not libwinnow.so.0" >&2
  exit 1
}
diff "$list" <(exported) || {
  echo "The exported names (>) differ from $list (<)." >&2
  echo "If that is meant: $0 $library $list --write" >&2
  exit 1
}
