# shellcheck shell=bash disable=SC2154
# Configuring and building, for the `build` command and for those that need a build first.
# Sourced by tools/dev.

build_usage() {
  cat <<'TEXT'
tools/dev build [--preset=NAME] [-DNAME=VALUE…] [TARGET…]

Configures and builds into build/NAME (default: release): programs in build/NAME/bin, libraries in
build/NAME/lib. Presets: release, debug, asan, tsan, thread-safety.

  tools/dev build                          everything
  tools/dev build winnow                   the command-line tool alone
  tools/dev build -DRocksDB_ROOT=/opt/rocksdb-release
                                           measure against another RocksDB
TEXT
}

# configure PRESET [CMAKE-ARGUMENT…]: quiet unless it fails.
configure() {
  local preset="$1"
  shift
  local log="build/configure-$preset.log"
  mkdir -p build
  say "configuring build/$preset"
  # All tests, unless the caller asks for those with a label.
  cmake --preset "$preset" -DWINNOW_TEST_LABEL= "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    fail "configuring build/$preset failed"
  }
}

# build_targets PRESET [TARGET…]: builds the named targets, or all of them.
build_targets() {
  local preset="$1"
  shift
  say "building build/$preset with $jobs jobs"
  local started=$SECONDS
  nice -n 5 cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"} ||
    fail "the build in build/$preset failed"
  printf 'built in %d s\n' $((SECONDS - started))
}

build_main() {
  local preset=release definitions=() targets=() argument
  for argument in "$@"; do
    case "$argument" in
      --preset=*) preset="${argument#--preset=}" ;;
      -D*) definitions+=("$argument") ;;
      -*) usage_error "unknown option '$argument'" "build --help" ;;
      *) targets+=("$argument") ;;
    esac
  done
  need_packages "${build_packages[@]}"
  configure "$preset" ${definitions[@]+"${definitions[@]}"}
  build_targets "$preset" ${targets[@]+"${targets[@]}"}
}
