# shellcheck shell=bash disable=SC2154
# The `test` command. Sourced by tools/dev.

test_usage() {
  cat <<'TEXT'
tools/dev test [--preset=NAME] [--filter=REGEX] [--quick] [--ci]

Builds with warnings as errors and runs the test suite with ctest; says how long each took.

  --preset=NAME    release (default), debug, asan or tsan
  --filter=REGEX   only the ctest entries whose name matches; there is one for each tests/…/NAME_test.cc
  --quick          leave out the tests labelled "slow"
  --ci             what continuous integration runs: lint, a short share of the sanitizer runs, then the
                   whole suite; goes on after a failure to report them all, and ends with a table
                   of stages and times

  tools/dev test --filter=sstable
  build/release/bin/filter_tests --gtest_filter='Sizing*'    some tests of one folder by hand
TEXT
}

# run_ctest PRESET [CTEST-ARGUMENT…]
run_ctest() {
  local preset="$1"
  shift
  local started=$SECONDS code=0
  ctest --test-dir "build/$preset" --parallel "$jobs" --output-on-failure --no-tests=error "$@" ||
    code=$?
  note_time tests $((SECONDS - started))
  return "$code"
}

# seconds_of PART FILE: what note_time has kept of a part of a stage, summed.
seconds_of() { awk -v part="$1" '$1 == part { sum += $2 } END { print sum + 0 }' "$2"; }

test_stages_of_ci() {
  local failed=0 stage started result table shared=(--jobs="$jobs")
  [ "$install_allowed" = yes ] || shared+=(--no-install)
  WINNOW_STAGE_TIMES="$(mktemp)"
  export WINNOW_STAGE_TIMES
  # Expanded now: nothing of this function is left when the trap runs.
  # shellcheck disable=SC2064
  trap "rm -f '$WINNOW_STAGE_TIMES'" EXIT
  table="$(printf '%-22s %8s %8s %8s  %s' stage 'build s' 'tests s' 'all s' result)"
  for stage in "lint --precompiled" "sanitize asan --quick" "sanitize tsan --quick" "test"; do
    say "stage: tools/dev $stage"
    started=$SECONDS
    result=passed
    : >"$WINNOW_STAGE_TIMES"
    # Word splitting is meant: a stage is a command line.
    # shellcheck disable=SC2086
    "$root/tools/dev" $stage "${shared[@]}" || { result=FAILED; failed=1; }
    printf '== stage "%s" took %d s\n' "$stage" $((SECONDS - started))
    table+="$(printf '\n%-22s %8d %8d %8d  %s' "$stage" "$(seconds_of build "$WINNOW_STAGE_TIMES")" \
      "$(seconds_of tests "$WINNOW_STAGE_TIMES")" $((SECONDS - started)) "$result")"
  done
  printf '\n%s\n%-22s %26d  %s\n' "$table" "in all" "$SECONDS" \
    "$([ "$failed" -eq 0 ] && echo passed || echo FAILED)"
  return "$failed"
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
  local packages=("${build_packages[@]}" "${instruction_packages[@]}")
  command -v javac >/dev/null && packages+=("${java_packages[@]}")
  need_packages "${packages[@]}"
  configure "$preset"
  build_targets "$preset"
  run_ctest "$preset" ${ctest_arguments[@]+"${ctest_arguments[@]}"} || fail "tests failed"
}
