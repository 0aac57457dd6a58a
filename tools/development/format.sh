# shellcheck shell=bash disable=SC2154
# The `format` command. Sourced by tools/dev.

format_usage() {
  cat <<'TEXT'
tools/dev format

Rewrites every C++ file of the repository as .clang-format asks. `tools/dev lint` only checks.
TEXT
}

format_main() {
  [ $# -eq 0 ] || usage_error "unknown argument '$1'" "format --help"
  need_packages clang-format
  find engine filter tools tests bench \( -name '*.cc' -o -name '*.h' \) -print0 |
    xargs -0 --no-run-if-empty --max-procs="$jobs" --max-args=20 clang-format -i
}
