#!/usr/bin/env bash
# exported_symbols_test.sh LIBRARY LIST SONAME: compares the names that a shared library shows,
# functions without their arguments, with a checked-in list, and its SONAME. With --write for SONAME
# it replaces the list. The names to show are chosen in tools/package/LIBRARY.version.
set -euo pipefail
readonly library="$1" list="$2" soname="$3"

exported() {
  nm --dynamic --defined-only --demangle "$library" |
    sed -E 's/^[0-9a-f]* +[A-Za-z] //; s/@@?WINNOW_[0-9.]+$//; s/\(.*//; s/\[abi:cxx11\]//' |
    grep -v '^WINNOW_[0-9.]*$' | LC_ALL=C sort -u
}

if [ "$soname" = --write ]; then
  exported >"$list"
  exit 0
fi
[ "$(objdump -p "$library" | awk '$1 == "SONAME" {print $2}')" = "$soname" ] || {
  echo "$library: its SONAME is not $soname" >&2
  exit 1
}
diff "$list" <(exported) || {
  echo "The exported names (>) differ from $list (<)." >&2
  echo "If that is meant: $0 $library $list --write" >&2
  exit 1
}
