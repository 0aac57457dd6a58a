# shellcheck shell=bash disable=SC2154
# The `mutants` command. Sourced by tools/dev.

mutants_usage() {
  cat <<'TEXT'
tools/dev mutants [NAME…] [--list] [--check]

Tests the tests. A mutant is a small defect: a sync left out, an error dropped, a checksum not
checked, a hash missing from a filter. Each is a text file in tools/development/mutants that names a
source, a piece of it, what takes its place, and the tests that must catch it. For each mutant that
has a NAME in its name (default: all) a copy of the source is changed and compiled, and the tests
are linked with it and run until one fails. The sources and build/release stay as they are. The
command fails if a mutant is caught by none of its tests, does not compile, or no longer applies.

  --list           only print the mutants, and which tests must catch each
  --check          only check that each mutant applies to its source exactly once (a second; the
                   test mutants_apply_test does so too)

  tools/dev mutants                        all of them: some 5 minutes on two processors, after
                                           the build that tools/dev test makes
  tools/dev mutants syncs/                 those of tools/development/mutants/syncs
  tools/dev mutants log_hole_accepted      one

What the compiler and the tests said is in build/mutants/NAME/log, the mutated source beside it.
tools/development/mutant_patch.py describes the files.
TEXT
}

mutants_main() {
  local mutants=(python3 -B "$pieces/mutants.py") names=() action=run argument targets
  for argument in "$@"; do
    case "$argument" in
      --list) action=list ;;
      --check) action=check ;;
      -*) usage_error "unknown option '$argument'" "mutants --help" ;;
      *) names+=("$argument") ;;
    esac
  done
  if [ $action != run ]; then
    "${mutants[@]}" $action ${names[@]+"${names[@]}"}
    return
  fi
  "${mutants[@]}" check ${names[@]+"${names[@]}"}
  need_packages "${build_packages[@]}"
  configure release -DWINNOW_WERROR=ON
  mapfile -t targets < <("${mutants[@]}" targets ${names[@]+"${names[@]}"})
  [ ${#targets[@]} -gt 0 ] || fail "the tests of the mutants are not in build/release"
  build_targets release "${targets[@]}"
  say "testing the mutants, $jobs at a time"
  "${mutants[@]}" run --jobs="$jobs" ${names[@]+"${names[@]}"} || fail "not every mutant was caught"
}
