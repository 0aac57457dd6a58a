# shellcheck shell=bash disable=SC2154
# The `fuzz` command. Sourced by tools/dev.

fuzz_usage() {
  cat <<'TEXT'
tools/dev fuzz [NAME|all] [SECONDS] [--list]

Builds the fuzz targets (tests/fuzz) with clang's libFuzzer under ASan and UBSan and runs each that
has NAME in its name (default: all) for SECONDS (default: 60), as many at a time as there are jobs.
Each starts from its seeds and from what earlier runs found worth keeping. A crash, a wrong answer,
a leak, one allocation above 256 MiB or a hang of ten seconds is a finding, and fails the command.

  --list           only print the targets' names

  tools/dev fuzz filter                    every target of the filter library
  tools/dev fuzz all 600                   ten minutes each
  build/fuzz/bin/filter_block_fuzz_replay build/fuzz/findings/FILE
                                           run one finding again

Inputs stay in build/fuzz/corpus, findings in build/fuzz/findings, logs in build/fuzz/logs.
TEXT
}

fuzz_targets() {
  sed -n 's/^ *winnow_fuzz(\([a-z_0-9]*\) .*/\1/p' "$root/tests/fuzz/CMakeLists.txt"
}

# fuzz_one TARGET SECONDS
fuzz_one() {
  local target="$1" seconds="$2" folder="$root/build/fuzz"
  local log="$folder/logs/$target.log"
  mkdir -p "$folder/corpus/$target" "$folder/findings" "$folder/logs"
  # The seeds are made by the code that is fuzzed, which may fail there already.
  "$folder/bin/${target}_replay" --write "$folder/corpus/$target" >"$log" 2>&1 || return 1
  # A whole database reaches so much code, and leaves so much to its threads, that weighing what was
  # reached and looking for leaks after each run would take nine tenths of the time. Leaks are still
  # looked for once, at the end.
  local quick=()
  [[ "$target" != database_* ]] || quick=(-entropic=0 -detect_leaks=0)
  "$folder/bin/$target" "$folder/corpus/$target" -max_total_time="$seconds" -max_len=65536 \
    ${quick[@]+"${quick[@]}"} -timeout=10 -malloc_limit_mb=256 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$folder/findings/$target-" >>"$log" 2>&1
}

# The statistic NAME of a target's log; libFuzzer prints them at the end.
fuzz_statistic() {
  sed -n "s/^stat::$2: *//p" "$root/build/fuzz/logs/$1.log" | tail -1
}

fuzz_report() {
  local target="$1" result="$2" log="$root/build/fuzz/logs/$1.log"
  printf '%-28s %14s %10s %10s  %s\n' "$target" "$(fuzz_statistic "$target" number_of_executed_units)" \
    "$(fuzz_statistic "$target" average_exec_per_sec)" \
    "$(find "$root/build/fuzz/corpus/$target" -type f | wc -l)" "$result"
  [ "$result" = clean ] || grep -E 'ERROR|must hold|SUMMARY|Test unit written' "$log" | head -8 || true
}

fuzz_main() {
  local words=() list=no argument target
  for argument in "$@"; do
    case "$argument" in
      --list) list=yes ;;
      -*) usage_error "unknown option '$argument'" "fuzz --help" ;;
      *) words+=("$argument") ;;
    esac
  done
  local name="${words[0]:-all}" seconds="${words[1]:-60}" targets=()
  [ ${#words[@]} -le 2 ] || usage_error "too many arguments" "fuzz --help"
  [[ "$seconds" =~ ^[1-9][0-9]*$ ]] || usage_error "SECONDS wants a number, not '$seconds'" "fuzz --help"
  for target in $(fuzz_targets); do
    [ "$name" = all ] || [[ "$target" == *"$name"* ]] || continue
    targets+=("$target")
  done
  [ ${#targets[@]} -gt 0 ] ||
    usage_error "no target has '$name' in its name; they are: $(fuzz_targets | tr '\n' ' ')" "fuzz --help"
  if [ "$list" = yes ]; then
    printf '%s\n' "${targets[@]}"
    return
  fi

  need_packages "${build_packages[@]}" "${clang_packages[@]}"
  configure fuzz
  build_targets fuzz "${targets[@]}" "${targets[@]/%/_replay}"
  say "fuzzing ${#targets[@]} targets, $seconds s each, $jobs at a time"
  local running=() failed=()
  printf '%-28s %14s %10s %10s  %s\n' target executions "per s" corpus result
  # Batches of as many targets as there are jobs; all of a batch run for the same time.
  local next=0 process index
  while [ $next -lt ${#targets[@]} ]; do
    running=()
    for target in "${targets[@]:next:jobs}"; do
      fuzz_one "$target" "$seconds" &
      running+=($!)
    done
    index=$next
    for process in "${running[@]}"; do
      if wait "$process"; then
        fuzz_report "${targets[index]}" clean
      else
        fuzz_report "${targets[index]}" "FINDING, see build/fuzz/logs/${targets[index]}.log"
        failed+=("${targets[index]}")
      fi
      index=$((index + 1))
    done
    next=$index
  done
  [ ${#failed[@]} -eq 0 ] || fail "findings in: ${failed[*]}"
}
