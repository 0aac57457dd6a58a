#!/usr/bin/env bash
# Compiles the adapter for each layout of RocksDB's builder class, with the installed RocksDB's
# headers and the version of another in front of them; checks the order of the virtual functions,
# that the internal header is taken where there is one, and what other versions are told. Also that
# what RocksDB's plugin build is given is complete.
set -euo pipefail
readonly source="$1" compiler="$2"
shift 2
# The rest are the include options of the installed RocksDB and of Abseil.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }

# stand_in MAJOR MINOR: a version header of that RocksDB, in $work/MAJOR.MINOR.
stand_in() {
  mkdir -p "$work/$1.$2/rocksdb"
  cat >"$work/$1.$2/rocksdb/version.h" <<TEXT
#pragma once
#include <string>
#include "rocksdb/rocksdb_namespace.h"
#define ROCKSDB_MAJOR $1
#define ROCKSDB_MINOR $2
namespace ROCKSDB_NAMESPACE {
std::string GetRocksVersionAsString(bool with_patch = true);
}
TEXT
}

# compile VERSION FILE OPTION…: compiles a file as if RocksDB were of that version.
compile() {
  local version="$1" file="$2"
  shift 2
  "$compiler" -std=c++20 -Wall -Werror -I"$work/$version" "$@" -I"$source" \
    -I"$source/filter/include" -I"$source/filter/rocksdb/include" "$file"
}

for version in "7 0" "9 5" "9 6" "10 8" "10 9" "11 9"; do
  # Word splitting is meant: two numbers.
  # shellcheck disable=SC2086
  stand_in $version
  version="${version/ /.}"
  compile "$version" "$here/virtual_order.cc" -o "$work/virtual_order" "$@"
  "$work/virtual_order" || fail "RocksDB $version: wrong layout"
  compile "$version" "$source/filter/rocksdb/bits_builder.cc" -fsyntax-only "$@" ||
    fail "RocksDB $version: bits_builder.cc does not compile"
done

for version in "6 29" "12 0"; do
  # shellcheck disable=SC2086
  stand_in $version
  version="${version/ /.}"
  if compile "$version" "$here/virtual_order.cc" -fsyntax-only "$@" 2>"$work/error"; then
    fail "RocksDB $version was accepted"
  fi
  grep -q "know the FilterBitsBuilder of RocksDB 7.0 to 11.x" "$work/error" ||
    fail "RocksDB $version: no word on what to do: $(cat "$work/error")"
done

# Inside RocksDB's tree its own header comes first.
mkdir -p "$work/tree/table/block_based"
echo '#error the internal header was taken' >"$work/tree/table/block_based/filter_policy_internal.h"
if compile 7.0 "$here/virtual_order.cc" -fsyntax-only -I"$work/tree" "$@" 2>"$work/error"; then
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
echo "six versions compile, two are refused"
