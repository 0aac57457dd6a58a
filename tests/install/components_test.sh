#!/usr/bin/env bash
# components_test.sh CMAKE CXX BUILD: find_package(Winnow COMPONENTS ...) looks up what the components
# need and nothing else, and says what is missing.
set -euo pipefail
# shellcheck source=tests/install/installation.sh
source "$(dirname "$0")/installation.sh"
readonly build="$3"

# refused COMPONENT REASON: configuring with a component that is required ends with this.
refused() {
  if configure_outside outside_components "$work/prefix" -DCOMPONENT="$1" >"$work/log" 2>&1
  then
    fail "component $1 was found"
  fi
  # CMake breaks long lines.
  tr -s ' \n' ' ' <"$work/log" | grep -qF "$2" || fail "$1: $(cat "$work/log")"
}

install_into "$work/prefix" "$build"
# with HEADER: whether it was installed, as CMake says it.
with() { if [ -f "$work/prefix/include/winnow/$1" ]; then echo ON; else echo OFF; fi; }
quietly configure_outside outside_components "$work/prefix" \
  -DROCKSDB_INSTALLED="$(with filter/rocksdb.h)" -DGUARD_INSTALLED="$(with guard/cache_guard.h)" \
  -DREDIS_INSTALLED="$(with filter/redis/client.h)"

# What was found can be used: the guard alone, and its cache on Redis.
if [ "$(with guard/cache_guard.h)" = ON ]; then
  build_outside outside_guard_program "$work/prefix"
  expect "guarded" "$work/outside_guard_program/outside_guard_program"
fi
if [ "$(with filter/redis/guard_cache.h)" = ON ]; then
  build_outside outside_redis_program "$work/prefix"
  expect "maybe, guarded" "$work/outside_redis_program/outside_redis_program"
fi
refused engines "there is no component engines; there are: filter shared engine"

# What is packaged apart may be left out: libraries, the filter policy.
rm -rf "$work/prefix"
install_into "$work/prefix" "$build" development
refused rocksdb "component rocksdb is not installed in $work/prefix"
refused shared "component shared is not installed in $work/prefix"
refused c "component c is not installed in $work/prefix"
refused guard "component guard is not installed in $work/prefix"
[ "$(with guard/cache_guard.h)" = OFF ] || fail "the guard's headers belong to component guard"
quietly configure_outside outside_components "$work/prefix" -DCOMPONENT="filter;engine"
install_into "$work/prefix" "$build" guard
if [ "$(with guard/cache_guard.h)" = ON ]; then
  quietly configure_outside outside_components "$work/prefix" -DCOMPONENT="filter;guard"
  refused redis_guard "component redis_guard is not installed in $work/prefix"
fi
