# shellcheck shell=bash disable=SC2154
# The `bench` command, the main job. Sourced by tools/dev.

source "$pieces/databases.sh"

bench_usage() {
  cat <<'TEXT'
tools/dev bench [--num=N] [--rounds=N] [--db=DIR] [--keep]

The main job. (1) Real input: every package of this machine's apt index (or, without one, the list
of files under /usr) is loaded into Winnow; the database is closed and reopened, each record read
back and compared, and as many absent keys asked, each made from a real one. (2) Synthetic: N keys
of 16 bytes with values of 100 bytes, the same for Winnow, RocksDB and LevelDB with the same memory
and 10 filter bits per key. Prints one table, and a sentence on what the filters saved.

  --num=N          synthetic keys (default 1000000)
  --rounds=N       interleaved rounds; the table shows medians (default 3)
  --db=DIR         where the databases are made (default: a new folder in build/)
  --keep           leave the databases there, and the real input

The figures stay in build/bench: round_trip.json and winnow_bench.json.
TEXT
}

# Writes the machine's own data to FILE and prints the format that winnow_round_trip reads it in.
collect_real_input() {
  local file="$1" list
  : >"$file"
  for list in /var/lib/apt/lists/*_Packages*; do
    [ -f "$list" ] || continue
    /usr/lib/apt/apt-helper cat-file "$list" >>"$file" 2>/dev/null || continue
    echo >>"$file"
  done
  if [ "$(grep -c '^Package:' "$file")" -ge 1000 ]; then
    echo stanzas
    return
  fi
  find /usr -xdev -printf '%p\t%s bytes, mode %m, owner %u, modified %t\n' >"$file" 2>/dev/null ||
    true
  echo lines
}

run_round_trip() {
  local databases="$1" results="$2" format
  say "real input: load, close, reopen, read back, ask for absent keys"
  format="$(collect_real_input "$databases/real_input.txt")"
  build/release/bin/winnow_round_trip --format="$format" --input="$databases/real_input.txt" \
    --db="$databases/real_input" --set=write_buffer_bytes=8M --set=block_cache_bytes=8M \
    --set=target_file_bytes=8M >"$results/round_trip.json" ||
    fail "the real input did not survive the round trip"
}

run_synthetic() {
  local databases="$1" results="$2" num="$3" rounds="$4"
  say "synthetic: $num keys, $rounds rounds of winnow, rocksdb and leveldb"
  build/release/bin/winnow_bench --engine=winnow,rocksdb,leveldb --num="$num" --rounds="$rounds" \
    --benchmarks=fillrandom,compact,readrandom,readmissing --key_size=16 --value_size=100 \
    --bloom_bits=10 --cache_size=33554432 --write_buffer_size=16777216 --compression_type=none \
    --db="$databases/synthetic" --json="$results/winnow_bench.json" \
    >"$results/winnow_bench.log" || {
    tail -n 20 "$results/winnow_bench.log" >&2
    fail "winnow_bench failed; its output is in $results/winnow_bench.log"
  }
}

bench_main() {
  local num=1000000 rounds=3 databases="" keep=no argument
  local results="$root/build/bench"
  for argument in "$@"; do
    case "$argument" in
      --num=*) num="${argument#--num=}" ;;
      --rounds=*) rounds="${argument#--rounds=}" ;;
      --db=*) databases="${argument#--db=}" ;;
      --keep) keep=yes ;;
      *) usage_error "unknown argument '$argument'" "bench --help" ;;
    esac
  done
  [[ "$num" =~ ^[1-9][0-9]*$ ]] || usage_error "--num wants a number, not '$num'" "bench --help"
  [[ "$rounds" =~ ^[1-9][0-9]*$ ]] ||
    usage_error "--rounds wants a number, not '$rounds'" "bench --help"
  need_packages "${build_packages[@]}"
  configure release
  build_targets release winnow_round_trip winnow_bench

  mkdir -p "$results"
  databases="$(databases_folder bench "$databases")"
  # Expanded now: the trap runs when the local variable is gone.
  # shellcheck disable=SC2064
  [ "$keep" = yes ] || trap "rm -rf '$databases'" EXIT

  local started=$SECONDS
  run_round_trip "$databases" "$results"
  run_synthetic "$databases" "$results" "$num" "$rounds"
  python3 -B "$pieces/bench_table.py" "$results/round_trip.json" "$results/winnow_bench.json"
  printf '\n%d s, the build aside.' $((SECONDS - started))
  if [ "$keep" = yes ]; then printf ' The databases are in %s.' "$databases"; fi
  printf '\n'
}
