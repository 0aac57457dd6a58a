# shellcheck shell=bash disable=SC2154
# The `soak` command. Sourced by tools/dev.

soak_usage() {
  cat <<'TEXT'
tools/dev soak [--minutes=N] [--seed=S] [--limits] [--planted]
tools/dev soak --memory=LIST [--families=LIST] [--keys=LIST] [--order=LIST]
tools/dev soak --files=LIST [--families=LIST] [--descriptors=LIST]

A third of the time: the store at its limits. Up to 10,000 column families, 64 threads, values of
1 GiB and 20,000 files, in any combination, each in a process of its own, with and without a limit
on memory, descriptors, processes or file size. One line for each shows memory, descriptors and disk
space before and under the load and when all is deleted, and the longest call. It fails if the
process ends, if an acknowledged write is lost, if a call fails that no limit explains, if writing
does not go on once the limit is lifted, or if something does not come back. Before them, small
loads of the two kinds below.

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

With --memory: what Options::ForMemory promises, and nothing else. Each load writes keys of 16 bytes
with values of 20, reads and walks over them, compacts everything, opens the database again and
reads. One line for each shows the highest resident memory of the process in each of these four
phases, its open files and disk space at most, and the longest call. It fails if that memory is
above the memory asked for, a tenth of it and 16 MiB, if a call fails, or if a key is lost. Lists
have commas, and each item of one goes with each of the others.

  --memory=LIST    the bounds, as 16MiB or 4GiB
  --families=LIST  how many column families (default 1,1000)
  --keys=LIST      how many in all (default 20000000)
  --order=LIST     sequential: family after family, ascending; scattered: each to any family,
                   ascending in each; random: to any family, in no order (default: all three)

With --files: SSTables of 64 KiB, far more than may be open. Each load writes them, one flush each,
opens the database, looks keys up, walks over all of them, compacts everything into as many files of
the last level while another thread reads and writes, deletes everything and compacts again. One
line for each shows the tables after the flushes and after the compaction, how long opening,
compacting and closing took, memory, descriptors and disk space before, at most and afterwards, and
the longest of all other calls. It fails if a call fails, if a key is missing, if there were fewer
tables, or if something does not come back.

  --files=LIST        how many
  --families=LIST     over how many column families (default 1,1000)
  --descriptors=LIST  the process's limit, as `ulimit -n` (default 1024)

All of it is written to $TMPDIR, or /tmp: 20 million keys take 2 GiB, 20,000 files 3 GiB.

  tools/dev soak --minutes=480 --seed=7
  tools/dev soak --memory=16MiB,64MiB,256MiB,1GiB,4GiB --order=sequential,random
  tools/dev soak --files=20000 --families=1,100 --descriptors=256,1024
TEXT
}

soak_main() {
  local argument list='[0-9A-Za-z]+(,[0-9A-Za-z]+)*'
  for argument in "$@"; do
    [[ "$argument" =~ ^--((minutes|seed)=[0-9]+|planted|limits)$ ||
      "$argument" =~ ^--(memory|families|keys|order|files|descriptors)=$list$ ]] ||
      usage_error "unknown argument '$argument'" "soak --help"
  done
  need_packages "${build_packages[@]}"
  configure release
  build_targets release soak
  case " $*" in
    *" --memory="* | *" --files="*) say "loads at the limits that were asked for" ;;
    *) say "limits, and mixed load with faults" ;;
  esac
  build/release/bin/soak "$@" || fail "the soak found problems"
}
