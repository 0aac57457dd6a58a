# shellcheck shell=bash disable=SC2154
# The `perf` command. Sourced by tools/dev.

perf_usage() {
  cat <<'TEXT'
tools/dev perf [--rows=NAME,…] [--num=N] [--rounds=N] [--large] [FLAG…]
tools/dev perf scale [--keys=N,…] [--rounds=N] [FLAG…]
tools/dev perf styles [--keys=N,…] [--rounds=N] [FLAG…]
tools/dev perf memory [--num=N] [--rounds=N] [FLAG…]
tools/dev perf instructions [--write]

How fast Winnow is beside RocksDB (as it comes, and tuned for points), LevelDB, LMDB and WiredTiger,
each where its package is installed: the same keys, the same memory, interleaved rounds. Where the
data is larger than the block cache also with mmap_reads (winnow_mapped), as LevelDB and LMDB read.
Prints one table of medians, with how many times what Winnow takes each peer takes, and how far from
its goal Winnow is. Below the table: what writes survive, versions, and which peers check assertions.
Needs a quiet machine, and between two and three hours for all rows of five million keys.
--report, --markdown, --plot and --from_json are for scale and styles too.

  --rows=NAME,…    only these (listed below); rows that read the same database load it once
  --num=N          keys (default 5000000); other sizes are shares of it
  --rounds=N       interleaved rounds (default 5)
  --large          also the rows with ten times as many keys
  --quick          20,000 keys and one round: whether everything runs, not how fast
  --engine=NAME,…  only these peers beside Winnow
  --db=DIR         where the databases are made and removed (default: a new folder in build/)
  --json=FILE      all rounds of every row (default: build/perf/perf.json)
  --in_parts       rows that --json has already stay in it: a long measurement in several sittings
  --report=FILE    a page with table and plot (default: build/perf/perf.html)
  --markdown=FILE  the table with its command and machine, for a README
  --plot=FILE      the plot as SVG
  --from_json=FILE measure nothing; table, page, Markdown and plot of what --json has kept

scale: the same work on more and more keys (--keys, default 1000000,3000000,10000000; up to
100000000): load, absent and present keys, memory for each GB of data, opening. Three rounds;
build/perf/scale.html has the curves. bench/engine/README.md continues them on paper.

styles: Winnow's styles of compaction beside RocksDB's leveled and universal, in trees that small
memtables make as deep as large ones (--keys, default 100000,300000,1000000,3000000): what a load and
an overwrite of every key write, the space after them, what absent keys cost and how many blocks they
read for nothing. Three rounds; build/perf/styles.html has the curves.

memory: absent keys with an eighth to all of the memory that 10 bits a key would take for filters:
reads of files in vain, of filters as of data, and time; Winnow's ribbon filters with
--filter_memory_budget beside RocksDB's, in partitions in its cache, which has the same memory, and a
sixteenth of the full filters for data (--num, default 10000000). Before each budget is measured the
same look-ups run for 90 seconds, so that tables and filters are what they will stay, and no cache
is empty.

instructions: how many instructions Get, MultiGet, Put, Seek and Next take, counted by callgrind, so
that a loss is seen on a busy machine; compared with bench/engine/instruction_counts.json, which
--write renews. 1 if one differs by more than 2 %, more or fewer. Counts of another compiler or C
library than the file names are not compared.

  tools/dev perf --rows=readmissing,readrandom --num=1000000 --engine=rocksdb
  tools/dev perf --from_json=build/perf/perf.json --markdown=table.md --plot=bench/engine/perf.svg

Exit codes: 0 done, 1 an engine failed or instructions differ, 2 wrong usage, 3 packages are
missing, 130 interrupted (what was measured is shown and kept).

Rows:

TEXT
  python3 -B "$pieces/perf" --list-rows
}

perf_main() {
  local targets code=0
  # The arguments first: a wrong one is told before minutes of building.
  targets="$(python3 -B "$pieces/perf" --check "$@")" || exit $?
  if [ -n "$targets" ]; then
    local packages=("${build_packages[@]}")
    [ "$targets" != instruction_counts ] || packages+=("${instruction_packages[@]}")
    need_packages "${packages[@]}"
    configure release
    build_targets release "$targets"
  fi
  python3 -B "$pieces/perf" "$@" || code=$?
  [ "$code" -ne 77 ] || code=0  # counts of another compiler: it has said so
  exit "$code"
}
