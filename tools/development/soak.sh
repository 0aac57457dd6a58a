# shellcheck shell=bash disable=SC2154
# The `soak` command. Sourced by tools/dev.

soak_usage() {
  cat <<'TEXT'
tools/dev soak [--minutes=N] [--seed=S] [--limits] [--planted]

A third of the time: the store at its limits. Up to 10,000 column families, 64 threads, values of
1 GiB and 20,000 files, in any combination, each in a process of its own, with and without a limit
on memory, descriptors, processes or file size. One line for each shows memory, descriptors and disk
space before and under the load and when all is deleted, and the longest call. It fails if the
process ends, if an acknowledged write is lost, if a call fails that no limit explains, if writing
does not go on once the limit is lifted, or if something does not come back.

The rest of the time: mixed load on the operating system's files, with faults that are switched on
and off: a full disk, failing reads, slow I/O, failing syncs of the log, failing tables; the
database is closed and opened again now and then. One line for each interval shows what was done,
what was refused, the longest call, memory, file descriptors, disk space and background errors. It
fails if a read differs from the model, if
something fails that no fault explains, if the database does not go on by itself after a full disk,
or if a resource keeps growing; and it ends by itself.

  --minutes=N   how long (default 5)
  --seed=S      of the load and of the faults (default 1)
  --limits      the limits alone, for all of the time
  --planted     the mixed load alone, whose model makes a mistake on purpose: the command must
                fail

  tools/dev soak --minutes=480 --seed=7
TEXT
}

soak_main() {
  local argument
  for argument in "$@"; do
    [[ "$argument" =~ ^--((minutes|seed)=[0-9]+|planted|limits)$ ]] ||
      usage_error "unknown argument '$argument'" "soak --help"
  done
  need_packages "${build_packages[@]}"
  configure release
  build_targets release soak
  say "limits, and mixed load with faults"
  build/release/bin/soak "$@" || fail "the soak found problems"
}
