#!/usr/bin/env bash
# pkg_config_test.sh CMAKE CXX BUILD CC: compiles outside programs with what the .pc files say, and
# links each in every way that they offer: with --static and without, where the shared libraries are
# installed and where the archives alone are.
set -euo pipefail
# shellcheck source=tests/install/installation.sh
source "$(dirname "$0")/installation.sh"
readonly build="$3" c_compiler="$4"

# compile PROGRAM STANDARD MODULE: into $work/PROGRAM.o.
compile() {
  # Word splitting is meant, here and below: these are several flags.
  # shellcheck disable=SC2046
  quietly "$compiler" -std="$2" -c "$here/$1/$1.cc" -o "$work/$1.o" \
    $(flags "$work/whole" --cflags "$3")
}

# run_linked WANTED PREFIX PROGRAM OPTION… MODULE: links the object and runs it.
run_linked() {
  local wanted="$1" prefix="$2" program="$3"
  shift 3
  # shellcheck disable=SC2046
  quietly "$compiler" "$work/$program.o" -o "$work/$program" $(flags "$prefix" --libs "$@")
  LD_LIBRARY_PATH="$(library_folder "$prefix")" expect "$wanted" "$work/$program" "$work/db_$program"
}

install_into "$work/whole" "$build"
install_into "$work/archives" "$build" development

for file in "$work"/whole/lib*/pkgconfig/*.pc "$work"/whole/lib/*/pkgconfig/*.pc; do
  [ -f "$file" ] || continue
  module="$(basename "$file" .pc)"
  all="$(flags "$work/whole" --cflags --libs --static "$module")"
  # shellcheck disable=SC2076
  [[ ! "$all" =~ "-DNOMINMAX" ]] || fail "$module.pc brings -DNOMINMAX"
done

# Without --static a program links Winnow and what its headers, and the types that they give, call of
# Abseil, and none of the codecs.
[ "$(flags "$work/whole" --libs winnow | tr ' ' '\n' | grep '^-l' | sort | tr '\n' ' ')" = \
  "-labsl_status -labsl_statusor -labsl_strings -labsl_throw_delegate -lwinnow " ] ||
  fail "winnow.pc links more than it must: $(flags "$work/whole" --libs winnow)"

compile outside_program c++20 winnow
compile outside_filter_program c++20 winnow-filter
compile outside_leveldb_program c++11 winnow-leveldb
for static in "" --static; do
  # shellcheck disable=SC2086
  {
    run_linked "stored value" "$work/whole" outside_program $static winnow
    run_linked "stored value" "$work/whole" outside_leveldb_program $static winnow-leveldb
    run_linked "filtered" "$work/whole" outside_filter_program $static winnow-filter
  }
done
# What the headers of filters call in line must be shown by the shared library too.
run_linked "filtered" "$work/whole" outside_filter_program winnow
run_linked "stored value" "$work/archives" outside_program --static winnow
run_linked "stored value" "$work/archives" outside_leveldb_program --static winnow-leveldb
run_linked "filtered" "$work/archives" outside_filter_program winnow-filter

# The guard and its cache on Redis are archives, where they are built.
if [ -f "$work/whole/include/winnow/guard/cache_guard.h" ]; then
  compile outside_guard_program c++20 winnow-guard
  run_linked "guarded" "$work/whole" outside_guard_program winnow-guard
  if flags "$work/archives" --exists winnow-guard; then fail "winnow-guard.pc is of component guard"; fi
  install_into "$work/archives" "$build" guard
  run_linked "guarded" "$work/archives" outside_guard_program winnow-guard
fi
if [ -f "$work/whole/include/winnow/filter/redis/guard_cache.h" ]; then
  compile outside_redis_program c++20 winnow-redis-guard
  run_linked "maybe, guarded" "$work/whole" outside_redis_program winnow-redis-guard
fi

# A C program needs one library, and none of its headers is Abseil's.
# shellcheck disable=SC2046
quietly "$c_compiler" "$here/outside_c_program/outside_c_program.c" -o "$work/c_program" \
  $(flags "$work/whole" --cflags --libs winnow-c)
LD_LIBRARY_PATH="$(library_folder "$work/whole")" expect "stored value" "$work/c_program" "$work/c_db"
[ "$(flags "$work/whole" --libs --static winnow-c)" = "$(flags "$work/whole" --libs winnow-c)" ] ||
  fail "winnow-c.pc needs other libraries to be linked statically"
