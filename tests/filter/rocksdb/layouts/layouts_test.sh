#!/usr/bin/env bash
# Compiles the adapter for each layout of RocksDB's builder class and each form of what it calls, with
# the headers of stand_in/; checks the order of the virtual functions, that the internal header is
# taken where there is one, and what other versions are told. Also that what RocksDB's plugin build
# is given is complete.
set -euo pipefail
readonly source="$1" compiler="$2"
shift 2
# The rest are the include options of Abseil.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }

# compile MAJOR MINOR FILE OPTION…: compiles a file as if RocksDB were MAJOR.MINOR.3.
compile() {
  local major="$1" minor="$2" file="$3"
  shift 3
  "$compiler" -std=c++20 -Wall -Werror -DSTAND_IN_MAJOR="$major" -DSTAND_IN_MINOR="$minor" \
    "$@" -I"$source" -I"$source/filter/include" -I"$source/filter/rocksdb/include" "$file"
}
headers="-I$here/../stand_in/include"

for version in "7 0" "9 5" "9 6" "10 8" "10 9" "11 9"; do
  # Word splitting is meant, here and below: two numbers.
  # shellcheck disable=SC2086
  compile $version "$here/virtual_order.cc" -o "$work/virtual_order" "$headers" "$@"
  "$work/virtual_order" || fail "RocksDB $version: wrong layout"
done

# What calls RocksDB compiles with the interfaces of each, which differ in more than the layout.
for version in "7 0" "7 8" "8 0" "9 6" "10 9" "11 9"; do
  # shellcheck disable=SC2086
  compile $version "$here/../stand_in/every_caller.cc" -fsyntax-only "$headers" "$@" ||
    fail "RocksDB $version: the adapter does not compile"
done
callers="$(cd "$source/filter/rocksdb" && grep -lE 'ROCKSDB_NAMESPACE::|<rocksdb/' ./*.cc | sort)"
named="$(sed -n 's|^#include "filter/rocksdb/\(.*\)"|./\1|p' "$here/../stand_in/every_caller.cc" | sort)"
[ "$callers" = "$named" ] || fail "every_caller.cc does not name the sources that call RocksDB"

refuses() {
  if compile "$1" "$2" "$here/virtual_order.cc" -fsyntax-only "$headers" "${@:3}" 2>"$work/error"
  then
    fail "RocksDB $1.$2 was accepted"
  fi
  grep -q "know the FilterBitsBuilder of RocksDB 7.0.3 to 11.x" "$work/error" ||
    fail "RocksDB $1.$2: no word on what to do: $(cat "$work/error")"
}
refuses 6 29 "$@"
refuses 12 0 "$@"
refuses 7 0 -DSTAND_IN_PATCH=2 "$@"

# Inside RocksDB's tree its own header comes first.
mkdir -p "$work/tree/table/block_based"
echo '#error the internal header was taken' >"$work/tree/table/block_based/filter_policy_internal.h"
if compile 7 0 "$here/virtual_order.cc" -fsyntax-only -I"$work/tree" "$headers" "$@" \
  2>"$work/error"; then
  fail "the internal header was not taken"
fi
grep -q "the internal header was taken" "$work/error" || fail "$(cat "$work/error")"

# The plugin's list of sources, as RocksDB's CMake build reads it.
listed="$(sed -n 's/^winnow_SOURCES = //p' "$source/filter/rocksdb/winnow.mk" | tr ' ' '\n' | sort)"
present="$(cd "$source/filter/rocksdb" && ls ./*.cc | sed 's|^\./||; /^register_on_load.cc$/d' | sort)"
[ "$listed" = "$present" ] || fail "winnow.mk does not list the sources that are there"
function_name="$(sed -n 's/^winnow_FUNC = //p' "$source/filter/rocksdb/winnow.mk")"
grep -q "int $function_name(ROCKSDB_NAMESPACE::ObjectLibrary& " \
  "$source/filter/rocksdb/registration.cc" || fail "winnow.mk names no function of ours"
# RocksDB 11 opens into a unique_ptr alone: everything that opens one does so by way of
# OpenPeerDatabase or of its own look at what there is.
if grep -rnE 'rocksdb::DB\* *[a-z_]+ *= *nullptr' "$source/tools" "$source/tests" "$source/bench"; then
  fail "these do not compile with RocksDB 11"
fi
echo "six versions compile, three are refused"
