# shellcheck shell=bash disable=SC2154
# Configuring and building, for the `build` command and for those that need a build first.
# Sourced by tools/dev.

build_usage() {
  cat <<'TEXT'
tools/dev build [--preset=NAME] [-DNAME=VALUE…] [TARGET…]

Configures and builds into build/NAME (default: release), and lists what it made: programs in
build/NAME/bin, libraries in build/NAME/lib. Presets: release, debug, asan, tsan, thread-safety.
Warnings are errors in release and debug, for every command alike, so that no command compiles again
what another has built; WINNOW_WERROR=OFF in the environment lets them pass.

  tools/dev build                          everything
  tools/dev build winnow                   the command-line tool alone
  tools/dev build -DRocksDB_ROOT=/opt/rocksdb-release
                                           measure against another RocksDB
TEXT
}

# configure PRESET [CMAKE-ARGUMENT…]: quiet unless it fails. What every command is to agree on is set
# here; a caller's own arguments win.
configure() {
  local preset="$1" shared=()
  shift
  case "$preset" in release | debug) shared=(-DWINNOW_WERROR="${WINNOW_WERROR:-ON}") ;; esac
  local log="build/configure-$preset.log"
  mkdir -p build
  say "configuring build/$preset"
  # All tests, unless the caller asks for those with a label.
  cmake --preset "$preset" -DWINNOW_TEST_LABEL= ${shared[@]+"${shared[@]}"} "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    fail "configuring build/$preset failed"
  }
}

# note_time PART SECONDS: prints it, and keeps it for the table of `tools/dev test --ci`.
note_time() {
  printf '%s: %d s\n' "$1" "$2"
  [ -z "${WINNOW_STAGE_TIMES-}" ] || printf '%s %d\n' "$1" "$2" >>"$WINNOW_STAGE_TIMES"
}

# build_targets PRESET [TARGET…]: builds the named targets, or all of them.
build_targets() {
  local preset="$1"
  shift
  say "building build/$preset with $jobs jobs"
  local started=$SECONDS code=0
  nice -n 5 cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"} || code=$?
  note_time build $((SECONDS - started))
  [ "$code" -eq 0 ] || fail "the build in build/$preset failed"
}

# products_of PRESET [TARGET…]: the files in bin/ and lib/ that the targets make. Without targets:
# every program but the tests, and the libraries that are installed.
products_of() {
  local preset="$1" target
  shift
  if [ $# -gt 0 ]; then
    for target in "$@"; do
      ninja -C "build/$preset" -t query "$target" |
        sed -n '/^  input/,/^  outputs/s/^    \(| \)\{0,1\}//p'
    done | grep -E '^(bin|lib)/' | sort -u
    return
  fi
  find "build/$preset/bin" -type f -executable ! -name '*_test' ! -name '*_tests' -printf 'bin/%f\n' |
    sort
  find "build/$preset" -name cmake_install.cmake -exec grep -hoE '/lib/[^/"]+\.(a|so[.0-9]*)"' {} + |
    sed 's|^/||; s|"$||' | sort -u
}

# list_products PRESET [TARGET…]: sizes and paths of what was built.
list_products() {
  local preset="$1" product file
  while read -r product; do
    file="build/$preset/$product"
    [ -f "$file" ] && [ ! -L "$file" ] || continue
    printf '%12s  %s\n' "$(numfmt --to=iec-i --suffix=B --format='%.1f' "$(stat -c %s "$file")")" \
      "$file"
  done < <(products_of "$@")
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
  say "built"
  list_products "$preset" ${targets[@]+"${targets[@]}"}
  if [ ${#targets[@]} -eq 0 ]; then
    printf '%12d  test programs, in build/%s/bin\n' \
      "$(find "build/$preset/bin" -name '*_test' -o -name '*_tests' | wc -l)" "$preset"
  fi
}
