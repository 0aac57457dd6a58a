# shellcheck shell=bash disable=SC2154
# The `sanitize` command. Sourced by tools/dev.

source "$pieces/test.sh"

sanitize_usage() {
  cat <<'TEXT'
tools/dev sanitize [asan|tsan|all] [--quick] [--filter=REGEX]

Builds the presets asan (AddressSanitizer with leak detection, UndefinedBehaviorSanitizer; with
clang) and tsan (ThreadSanitizer) and runs the test suite in each; the first report fails the test.
ThreadSanitizer leaves out the tests labelled "unthreaded": statistics over millions of keys.

  --quick          the short share that runs in continuous integration: tsan with the tests labelled
                   "concurrent" only, asan without those, which tsan watches, the command line tools
                   and what is labelled "slow" or "unthreaded"
  --filter=REGEX   only the ctest entries whose name matches
TEXT
}

# The targets behind the ctest entries that ctest's arguments select: the programs of test_programs.txt
# (ctest itself names none that has not been built), and what is a target of the entry's own name.
selected_targets() {
  local preset="$1" entries
  shift
  entries="$(ctest --test-dir "build/$preset" --show-only "$@" |
             sed -n 's/^ *Test *#[0-9]*: //p' | sort)"
  {
    join -o 2.2 <(printf '%s\n' "$entries") <(sort -k 1,1 "build/$preset/test_programs.txt")
    comm -12 <(printf '%s\n' "$entries") \
             <(ninja -C "build/$preset" -t targets all | sed -n 's/: .*//p' | sort)
  } | sort -u
}

# sanitize_one PRESET QUICK [CTEST-ARGUMENT…]
sanitize_one() {
  local preset="$1" quick="$2"
  shift 2
  local selection=("$@") targets=() tools=ON label=
  case "$preset-$quick" in
    asan-yes) selection+=(-LE 'slow|unthreaded|concurrent') tools=OFF ;;
    tsan-yes) selection+=(-L concurrent -LE 'slow|unthreaded') label=concurrent ;;
    tsan-no) selection+=(-LE unthreaded) ;;
  esac
  # Warnings are the release build's matter.
  configure "$preset" -DWINNOW_WERROR=OFF -DWINNOW_BENCH=OFF -DWINNOW_TOOLS=$tools \
    -DWINNOW_TEST_LABEL="$label"
  if [ "$quick" = yes ]; then
    mapfile -t targets < <(selected_targets "$preset" "${selection[@]}")
  fi
  build_targets "$preset" ${targets[@]+"${targets[@]}"}
  # What cannot be had is null, as it is without a sanitizer.
  export ASAN_OPTIONS="allocator_may_return_null=1:halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1"
  export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
  export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:suppressions=$pieces/tsan.suppressions"
  run_ctest "$preset" ${selection[@]+"${selection[@]}"}
}

sanitize_main() {
  local presets=(asan tsan) quick=no ctest_arguments=() failed=() argument preset
  for argument in "$@"; do
    case "$argument" in
      asan | tsan) presets=("$argument") ;;
      all) presets=(asan tsan) ;;
      --quick) quick=yes ;;
      --filter=*) ctest_arguments+=(-R "${argument#--filter=}") ;;
      *) usage_error "unknown argument '$argument'" "sanitize --help" ;;
    esac
  done
  need_packages "${build_packages[@]}" "${clang_packages[@]}"
  for preset in "${presets[@]}"; do
    sanitize_one "$preset" "$quick" ${ctest_arguments[@]+"${ctest_arguments[@]}"} ||
      failed+=("$preset")
  done
  [ ${#failed[@]} -eq 0 ] || fail "the sanitizer run failed: ${failed[*]}"
}
