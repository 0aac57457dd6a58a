# shellcheck shell=bash disable=SC2154
# The `mutants` command. Sourced by tools/dev.

mutants_usage() {
  cat <<'TEXT'
tools/dev mutants [NAME…] [--list]

Tests the tests. The code has places where a defect can be planted: a sync left out, an error
dropped, a checksum not checked, a hash missing from a filter. One build (build/mutants) holds them
all; the environment variable WINNOW_DEFECT plants one. For each defect that has a NAME in its name
(default: all) the test programs that should catch it run until one fails; if none does, so does the
rest of the suite. A defect that nothing catches fails the command.

  --list           only print the defects, and which test programs should catch each

  tools/dev mutants sync                   every defect with "sync" in its name
  WINNOW_DEFECT=log_hole_accepted build/mutants/bin/crash_tests
                                           see one defect caught

The table of defects is tools/development/mutants.txt; logs are in build/mutants/mutants.
TEXT
}

mutants_main() {
  local table=(python3 -B "$pieces/mutants.py") names=() list=no argument targets
  for argument in "$@"; do
    case "$argument" in
      --list) list=yes ;;
      -*) usage_error "unknown option '$argument'" "mutants --help" ;;
      *) names+=("$argument") ;;
    esac
  done
  if [ "$list" = yes ]; then
    "${table[@]}" list ${names[@]+"${names[@]}"}
    return
  fi
  need_packages "${build_packages[@]}"
  configure mutants
  # Fails if the table and the markers in the code do not agree, or no defect has such a name.
  mapfile -t targets < <("${table[@]}" targets ${names[@]+"${names[@]}"})
  [ ${#targets[@]} -gt 0 ] || exit 2
  build_targets mutants "${targets[@]}"
  say "planting defects, $jobs at a time"
  local code=0
  "${table[@]}" run --jobs="$jobs" ${names[@]+"${names[@]}"} || code=$?
  if [ $code -eq 4 ]; then
    build_targets mutants
    say "the rest of the suite, for the defects that survived"
    "${table[@]}" survivors --jobs="$jobs" || fail "defects survived"
  elif [ $code -ne 0 ]; then
    fail "the run failed"
  fi
}
