# shellcheck shell=bash disable=SC2154
# The `crash` command. Sourced by tools/dev.

# shellcheck source=tools/development/table_campaign.sh
source "$pieces/table_campaign.sh"

crash_usage() {
  cat <<'TEXT'
tools/dev crash [--points=N] [--kills=N] [--errors] [--seed=S] [--long]
tools/dev crash --model=table [--points=N] [--seed=S] [--increments=N]

Crashes the store and compares what is left with what was promised: synced writes are there, unsynced
ones are lost as a suffix only, batches are whole over all column families, deletes stay.

  --points=N   simulated crashes: every state of the disk that may be found after each operation of
               a reference workload, of every pair and triple of public operations, and then of
               random workloads, until N states have been reopened and compared (more, if there are
               more without any random one). In each the store is written to, compacted, and crashed
               once more; copies made by Checkpoint are opened as well.
  --kills=N    real ones: a process that writes from several threads, with and without sync (batches
               with merges and range deletions, transactions, tables that are ingested), is killed
               with signal 9 at random moments; each write that it said was acknowledged must be
               there.
  --errors     no crash: the reference workload once for each of its file operations and each way in
               which that may fail (I/O error, disk full, torn append, sync that drops the pages, no
               file descriptor; once, for a while, for ever), then a power failure
  --seed=S     of the values, random choices and moments; default 1
  --long       50 reference workloads, ten times as many choices of what survived; of --errors also
               random pairs of errors in one run

Without any of --points, --kills and --errors: --points=20000 --errors --kills=50, with --long
--points=1000000 --errors --kills=5000, which takes hours.

With --model=table: N states (default 20000) after power failures in the life of tables: schemas,
batches, ranges of deleted rows and bulk loads are there whole or not at all; then 8 threads that each
add 1 to counters --increments times (default 100000), which must all count.

  tools/dev crash --points=20000           about two minutes on two cores
  tools/dev crash --kills=200              about a minute and a half
  tools/dev crash --errors                 about a minute
  tools/dev crash --points=20000 --seed=7  the same with other values and choices

The table counts states, and promises that were broken: synced writes lost, holes (a later write is
there, an earlier one is not), batches torn, deletes undone, anything else. The last line says which
failure rate the run excludes. Exit code 1 if any promise was broken; the first failure is named with
its workload, operation and choice.
TEXT
}

crash_main() {
  local campaign=() chosen=no long=no argument
  if [[ " $* " == *" --model=table "* ]]; then
    run_table_campaign crash crash 'points|seed|increments' "$@"
    return
  fi
  for argument in "$@"; do
    case "$argument" in
      --points=* | --kills=* | --errors) chosen=yes ;;
      --long) long=yes ;;
      --seed=*) ;;
      *) usage_error "unknown argument '$argument'" "crash --help" ;;
    esac
    campaign+=("$argument")
    [[ "$argument" != *=* || "${argument#*=}" =~ ^[0-9]+$ ]] ||
      usage_error "${argument%%=*} wants a number, not '${argument#*=}'" "crash --help"
  done
  if [ "$chosen" = no ]; then
    if [ "$long" = yes ]; then
      campaign+=(--points=1000000 --errors --kills=5000)
    else
      campaign+=(--points=20000 --errors --kills=50)
    fi
  fi
  need_packages "${build_packages[@]}"
  configure release
  build_targets release crash_campaign
  say "crashing"
  "$root/build/release/bin/crash_campaign" --jobs="$jobs" "${campaign[@]}" ||
    fail "a promise was broken"
}
