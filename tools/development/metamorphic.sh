# shellcheck shell=bash disable=SC2154
# The `metamorphic` command. Sourced by tools/dev.

# shellcheck source=tools/development/table_campaign.sh
source "$pieces/table_campaign.sh"

metamorphic_usage() {
  cat <<'TEXT'
tools/dev metamorphic [--seeds=N] [--seed=S] [--operations=N] [--option-sets=N] [--long] [--planted]
tools/dev metamorphic --model=table [--seeds=N] [--seed=S] [--operations=N] [--length=N]

Replays the same random log of operations under different options (filter kinds and keys, filters
of the user's own, block sizes, compression, caches, memtables, file systems), where every answer
must be the same, checkpoints and restored backups included; then runs all 32,768 histories of five
operations on one key against a model.

  --seeds=N        how many logs (default 150)
  --seed=S         the first seed (default: another one each day); the others follow it
  --operations=N   length of a log (default 5000)
  --option-sets=N  replays of each log (default 2)
  --long           3000 logs, 4 replays, and all 1,771,561 histories of six operations on two keys
  --planted        the second replay makes a mistake on purpose: the command must fail

With --model=table: tables of rows, columns and versions against a naive replay. Random histories with
any rules, Bloom filter and kind of delete, ties, clocks that jump, snapshots, altered schemas, openings,
flushes and compactions (default 200 seeds of 10000 operations); then all histories of --length writes
(default 5) to one column with three timestamps, for VERSIONS of 1, 2 and 3.

A log whose answers differ is cut down to the operations that matter and printed, with both option
sets, both answers and the command that runs it again.

  tools/dev metamorphic --seeds=1000 --option-sets=4
  tools/dev metamorphic --seed=20778003 --seeds=1     one seed again
  tools/dev metamorphic --model=table                 some minutes on two cores
TEXT
}

metamorphic_main() {
  local argument
  if [[ " $* " == *" --model=table "* ]]; then
    run_table_campaign metamorphic histories 'seeds?|operations|length' "$@"
    return
  fi
  for argument in "$@"; do
    [[ "$argument" =~ ^--(seeds?|operations|option-sets)=[0-9]+$ || "$argument" = --planted ||
      "$argument" = --long ]] ||
      usage_error "unknown argument '$argument'" "metamorphic --help"
  done
  need_packages "${build_packages[@]}"
  configure release
  build_targets release metamorphic
  say "replaying the same operations under different options"
  build/release/bin/metamorphic --jobs="$jobs" "$@" || fail "answers differ"
}
