# shellcheck shell=bash
# Sourced by the tests of this folder: an empty working folder, $work, which is removed at the end,
# and how outside programs are built against what is installed there. Sets cmake and compiler.
cmake="$1" compiler="$2"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# quietly COMMAND…: shows what it printed only if it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || {
    printf 'failed: %s\n' "$*" >&2
    cat "$work/log" >&2
    exit 1
  }
}

# expect WANTED COMMAND…: the command succeeds and prints exactly this.
expect() {
  local wanted="$1" printed
  shift
  printed="$("$@")" || { printf 'failed: %s\n' "$*" >&2; exit 1; }
  [ "$printed" = "$wanted" ] || fail "$* printed \"$printed\", not \"$wanted\""
}

# install_into PREFIX BUILD [COMPONENT…]: these components, or all but those that are asked for.
install_into() {
  local prefix="$1" from="$2" component
  shift 2
  [ $# -gt 0 ] || quietly "$cmake" --install "$from" --prefix "$prefix"
  for component in "$@"; do
    quietly "$cmake" --install "$from" --prefix "$prefix" --component "$component"
  done
}

# configure_outside PROGRAM PREFIX OPTION…: with find_package, in $work/PROGRAM.
configure_outside() {
  local program="$1" prefix="$2"
  shift 2
  "$cmake" -S "$here/$program" -B "$work/$program" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$prefix" "$@"
}

# build_outside PROGRAM PREFIX OPTION…: the same, and builds it.
build_outside() {
  quietly configure_outside "$@"
  quietly "$cmake" --build "$work/$1"
}

# cached_options BUILD NAME…: -DNAME=VALUE, a line each, of those that a build was configured with.
cached_options() {
  local cache="$1/CMakeCache.txt" name value
  shift
  for name in "$@"; do
    value="$(sed -n "s/^$name:[A-Z]*=//p" "$cache")"
    [ -z "$value" ] || printf '%s\n' "-D$name=$value"
  done
}

# flags PREFIX OPTION… MODULE: what pkg-config says there.
flags() {
  local prefix="$1"
  shift
  PKG_CONFIG_PATH="$(echo "$prefix"/lib*/pkgconfig "$prefix"/lib/*/pkgconfig | tr ' ' ':')" \
    pkg-config "$@"
}

# library_folder PREFIX: where libraries were installed.
library_folder() { dirname "$(find "$1" -name 'libwinnow*' -print -quit)"; }
