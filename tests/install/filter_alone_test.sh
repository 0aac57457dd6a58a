#!/usr/bin/env bash
# filter_alone_test.sh CMAKE CXX BUILD SOURCE: configures the filter library alone, installs it and
# uses it.
set -euo pipefail
# shellcheck source=tests/install/installation.sh
source "$(dirname "$0")/installation.sh"
readonly build="$3" source="$4"
readonly alone="$work/build"

# commands FOLDER: those that make the archive of a build, without the folder's name.
commands() { ninja -C "$1" -t commands lib/libwinnow_filter.a 2>/dev/null | sed "s|$1|BUILD|g"; }

# What decides how sources are compiled is that of the whole build.
mapfile -t options < <(cached_options "$build" CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS \
  CMAKE_CXX_COMPILER_LAUNCHER WINNOW_WERROR WINNOW_THREAD_SAFETY WINNOW_PRECOMPILED_HEADERS)
quietly "$cmake" -S "$source" -B "$alone" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  "${options[@]}" -DWINNOW_ENGINE=OFF -DWINNOW_ROCKSDB=OFF -DWINNOW_GUARD=OFF -DWINNOW_REDIS=OFF -DWINNOW_TESTS=OFF \
  -DWINNOW_BENCH=OFF
# The same commands make the same archive, which is there already.
if [ -n "$(commands "$build")" ] && [ "$(commands "$build")" = "$(commands "$alone")" ]; then
  mkdir -p "$alone/lib"
  cp "$build/lib/libwinnow_filter.a" "$alone/lib"
else
  echo "compiled otherwise than in $build: builds it"
  quietly "$cmake" --build "$alone"
fi
install_into "$work/prefix" "$alone"
build_outside outside_filter_program "$work/prefix"
expect "filtered" "$work/outside_filter_program/outside_filter_program"
