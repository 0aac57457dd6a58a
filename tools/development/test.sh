# shellcheck shell=bash disable=SC2154
# The `test` command. Sourced by tools/dev.

test_usage() {
  cat <<'TEXT'
tools/dev test [--preset=NAME] [--filter=REGEX] [--quick] [--ci]

Builds with warnings as errors and runs the test suite with ctest.

  --preset=NAME    release (default), debug, asan or tsan
  --filter=REGEX   only the ctest entries whose name matches; there is one for each tests/…/NAME_test.cc
  --quick          leave out the tests labelled "slow"
  --ci             what continuous integration runs: lint, a short share of the sanitizer runs and
                   minutes of fuzzing the filter library, then the whole suite; goes on after a
                   failure to report them all

  tools/dev test --filter=sstable
  build/release/bin/filter_tests --gtest_filter='Sizing*'    some tests of one folder by hand
TEXT
}

# run_ctest PRESET [CTEST-ARGUMENT…]
run_ctest() {
  local preset="$1"
  shift
  ctest --test-dir "build/$preset" --parallel "$jobs" --output-on-failure --no-tests=error "$@"
}

test_stages_of_ci() {
  local failed=() stage started
  export WINNOW_CONTINUOUS_INTEGRATION=1
  for stage in "lint" "sanitize asan --quick" "sanitize tsan --quick" "fuzz filter 60" "test"; do
    say "stage: tools/dev $stage"
    started=$SECONDS
    # Word splitting is meant: a stage is a command line.
    # shellcheck disable=SC2086
    "$root/tools/dev" $stage --jobs="$jobs" || failed+=("$stage")
    printf '== stage "%s" took %d s\n' "$stage" $((SECONDS - started))
  done
  [ ${#failed[@]} -eq 0 ] && return 0
  printf 'tools/dev: failed stage: %s\n' "${failed[@]}" >&2
  return 1
}

test_main() {
  local preset=release ctest_arguments=() ci=no argument
  for argument in "$@"; do
    case "$argument" in
      --preset=*) preset="${argument#--preset=}" ;;
      --filter=*) ctest_arguments+=(-R "${argument#--filter=}") ;;
      --quick) ctest_arguments+=(-LE slow) ;;
      --ci) ci=yes ;;
      *) usage_error "unknown argument '$argument'" "test --help" ;;
    esac
  done
  if [ "$ci" = yes ]; then
    test_stages_of_ci
    return
  fi
  local packages=("${build_packages[@]}")
  command -v javac >/dev/null && packages+=("${java_packages[@]}")
  need_packages "${packages[@]}"
  configure "$preset" -DWINNOW_WERROR=ON
  build_targets "$preset"
  run_ctest "$preset" ${ctest_arguments[@]+"${ctest_arguments[@]}"} || fail "tests failed"
}
