#!/usr/bin/env bash
# bindings_test.sh CMAKE CXX BUILD IN_ONE_FILE PROCESS [PYTHON]: the libraries for other languages, as
# they are installed: the names that they show, what they need besides, that they get along in one
# process (PROCESS is the program libraries_in_one_process), and that an FFI finds LevelDB in them.
set -euo pipefail
# shellcheck source=tests/install/installation.sh
source "$(dirname "$0")/../installation.sh"
readonly build="$3" in_one_file="$4" process="$5" python="${6-}"

# shows LIBRARY SONAME LIST: these names and no others.
shows() { "$here/exported_symbols_test.sh" "$libraries/$1" "$3" "$2" || fail "$1: its names"; }

# keeps_to_itself LIBRARY: nothing in it is looked up by a name that another library may have.
keeps_to_itself() {
  if readelf --relocs --wide "$libraries/$1" | grep -E ' (winnow|leveldb)_[a-z]'; then
    fail "$1 calls functions of its own through names that are seen outside"
  fi
}

# needs_no LIBRARY PATTERN: no library of such a name is loaded with it.
needs_no() {
  if objdump -p "$libraries/$1" | grep "NEEDED.*$2"; then fail "$1 needs other libraries"; fi
}

# The bindings alone, with nothing else of Winnow beside them.
install_into "$work/prefix" "$build" bindings
libraries="$(library_folder "$work/prefix")"
[ "$(find "$libraries" -maxdepth 1 -type f | wc -l)" = 2 ] || fail "installed more than two libraries"

grep '^winnow_' "$here/libwinnow_symbols.txt" >"$work/c_functions"
[ "$(wc -l <"$work/c_functions")" -gt 100 ] || fail "libwinnow_symbols.txt has no C functions"
shows libwinnow-c.so.0 libwinnow-c.so.0 "$work/c_functions"
shows libleveldb-winnow.so.1 libleveldb-winnow.so.1 "$here/bindings/libleveldb-winnow_symbols.txt"
[ "$(wc -l <"$here/bindings/libleveldb-winnow_symbols.txt")" = 68 ] || fail "LevelDB has 68 functions"
if [ "$in_one_file" = OFF ] && compgen -G "/usr/lib/*/libabsl_status.a" >/dev/null; then
  fail "Abseil's archives are installed, and yet the libraries were linked without them"
fi
for library in libwinnow-c.so.0 libleveldb-winnow.so.1; do
  keeps_to_itself "$library"
  needs_no "$library" libwinnow
  [ "$in_one_file" = OFF ] || needs_no "$library" libabsl
done

# A library that comes later finds the names of all before it, LevelDB's own among them.
install_into "$work/prefix" "$build" runtime
cd "$work"
arguments=("winnow=$libraries/libwinnow.so.0" "winnow=$libraries/libwinnow-c.so.0"
  "leveldb=$libraries/libleveldb-winnow.so.1")
real="$(ldconfig -p 2>/dev/null | sed -n 's/^[[:space:]]*libleveldb\.so\.1.* => //p' | head -1)" || true
[ -z "$real" ] || arguments+=("leveldb=$real")
expect "${#arguments[@]} databases" "$process" "${arguments[@]}"
rm -rf db*
expect "3 databases" "$process" "${arguments[2]}" "${arguments[1]}" "${arguments[0]}"

if [ -n "$python" ]; then
  LD_LIBRARY_PATH="$libraries/winnow/leveldb" expect "stored value" \
    "$python" "$here/bindings/load_leveldb.py" "$work/ffi_db"
fi
