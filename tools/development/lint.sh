# shellcheck shell=bash disable=SC2154
# The `lint` command: prepares what the checks in tools/development/lint need. Sourced by tools/dev.

lint_usage() {
  cat <<'TEXT'
tools/dev lint [--tidy] [--precompiled] [--rule=NAME…]

Checks, and fails with rule, file and line:
  format           clang-format would change nothing
  includes         nothing includes against the arrow: the folders' order is the link graph in
                   engine/CMakeLists.txt; filter/ includes nothing of engine/
  compile          clang compiles every header alone, and every source but those of tests, with
                   warnings and missing or broken lock annotations (-Wthread-safety) as errors
  functions        no function is longer than 100 lines
  unused           something outside tests/ uses every function that is not public
  unity            no two sources of one engine room, which sanitizer builds compile together, have
                   a function, type or constant of the same name for themselves
  files            file and top-level folder names; no file longer than 800 lines
  text             TODO and FIXME, locks that ThreadSanitizer cannot see, a lock that guards nothing
and prints the biggest files, the longest functions and the share of comments.

  --tidy           also run clang-tidy (minutes)
  --precompiled    sources are compiled behind the headers that the build precompiles, and together
                   where the build compiles them together, in less time; an include that a source
                   forgets, and gets from one of those, is not found
  --rule=NAME      only this rule; may be given several times
TEXT
}

lint_main() {
  local packages=("${build_packages[@]}" "${lint_packages[@]}") argument
  for argument in "$@"; do
    case "$argument" in
      --tidy) packages+=("${tidy_packages[@]}") ;;
      --precompiled | --rule=*) ;;
      *) usage_error "unknown argument '$argument'" "lint --help" ;;
    esac
  done
  need_packages "${packages[@]}"
  configure release
  python3 -B "$pieces/lint" --jobs="$jobs" "$@"
}
