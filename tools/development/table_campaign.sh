# shellcheck shell=bash disable=SC2154
# Campaigns of tables, for the commands that have one.

# run_table_campaign COMMAND WHAT NAMES ARGUMENTS...: the campaign of tables that WHAT says. NAMES are
# those of the flags that it takes, a pattern.
run_table_campaign() {
  local command="$1" what="$2" names="$3" argument campaign=()
  shift 3
  for argument in "$@"; do
    [ "$argument" != --model=table ] || continue
    [[ "$argument" =~ ^--($names)=[0-9]+$ ]] ||
      usage_error "unknown argument '$argument' beside --model=table" "$command --help"
    campaign+=("$argument")
  done
  need_packages "${build_packages[@]}"
  configure release
  build_targets release table_campaign
  say "tables of rows and columns"
  "$root/build/release/bin/table_campaign" "$what" --jobs="$jobs" "${campaign[@]}" ||
    fail "tables are not what they should be"
}
