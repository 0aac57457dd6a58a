# shellcheck shell=bash disable=SC2154
# The `pairs` command. Sourced by tools/dev.

pairs_usage() {
  cat <<'TEXT'
tools/dev pairs [--seeds=N] [--seed=S] [--calls=N] [--pair=CALL,CALL] [--preset=NAME]

Makes every public call beside every other public call, on two to eight threads: writes and reads of
all kinds, iterators and snapshots, column families that come and go, flushes, compactions,
checkpoints, backups, traces, tables, Verify, readers that open the same files, others that would
destroy or repair them, Close. Each answer must be one that the call may give, and the database must
open again, sound, with what nobody touched. Runs under AddressSanitizer and under ThreadSanitizer.

  --seeds=N          how often each pair (default 3 in each of the two)
  --seed=S           the first seed (default 1)
  --calls=N          calls of each thread (default 60)
  --pair=CALL,CALL   one pair only; each failure is printed with the arguments that run it again
  --preset=NAME      asan, tsan, release or debug instead of the two

  tools/dev pairs --pair=put,close --seeds=400 --preset=tsan
TEXT
}

pairs_main() {
  local presets=(asan tsan) arguments=(--seeds=3 --calls=60) argument preset failed=()
  for argument in "$@"; do
    case "$argument" in
      --preset=*) presets=("${argument#--preset=}") ;;
      --seeds=* | --seed=* | --calls=* | --pair=*) arguments+=("$argument") ;;
      *) usage_error "unknown argument '$argument'" "pairs --help" ;;
    esac
  done
  need_packages "${build_packages[@]}"
  export ASAN_OPTIONS="halt_on_error=1:detect_leaks=1"
  export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
  export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:suppressions=$pieces/tsan.suppressions"
  for preset in "${presets[@]}"; do
    configure "$preset" -DWINNOW_BENCH=OFF
    build_targets "$preset" pairs
    say "pairs of calls, $preset"
    "build/$preset/bin/pairs" "${arguments[@]}" || failed+=("$preset")
  done
  [ ${#failed[@]} -eq 0 ] || fail "pairs of calls failed: ${failed[*]}"
}
