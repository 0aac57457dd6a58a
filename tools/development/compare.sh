# shellcheck shell=bash disable=SC2154
# The `compare` command: filters inside RocksDB. Sourced by tools/dev.

source "$pieces/databases.sh"

compare_usage() {
  cat <<'TEXT'
tools/dev compare [--quick] [--keys=N[,N…]] [--rounds=N] [--db=DIR]

RocksDB with its own Bloom and Ribbon filters and with each of Winnow's kinds, at equal memory per
key (10 bits; the Ribbon filter that takes as much), on the same data, in interleaved rounds: time
to load and to compact with the filters in it, filter bytes, measured false-positive rate, look-ups
of absent and present keys one by one and in batches, needless block reads. Several sizes, one and
two threads, filters in memory and filters in a block cache that is too small for them.

  --quick          one small size, for about three minutes
  --keys=N[,N…]    the sizes, in keys (default 1000000,3000000,10000000: about half an hour)
  --rounds=N       interleaved rounds; the table shows medians (default 5; 3 with --quick)
  --db=DIR         where the databases are made (default: a new folder in build/)

Prints one table. build/compare keeps it as compare.json, with plots as compare.html, and each
run's own results.
TEXT
}

readonly compare_contenders='rocksdb@rocksdb.bloom:10,rocksdb@rocksdb.ribbon:14,rocksdb@*:10'

# compare_run RESULTS DATABASES NAME FLAG…: one run of winnow_bench over all contenders.
compare_run() {
  local results="$1" databases="$2" name="$3"
  shift 3
  say "$name"
  build/release/bin/winnow_bench --engine="$compare_contenders" --db="$databases" --seed=1 \
    --key_size=16 --value_size=100 --compression_type=none --write_buffer_size=16M \
    --statistics --json="$results/$name.json" "$@" >"$results/$name.log" 2>&1 || {
    tail -n 20 "$results/$name.log" >&2
    fail "winnow_bench failed; its output is in $results/$name.log"
  }
}

# compare_size RESULTS DATABASES KEYS READS ROUNDS: loads, then reads in each setting.
compare_size() {
  local results="$1" databases="$2" keys="$3" reads="$4" rounds="$5"
  local lookups=readmissing,multireadmissing,readrandom,multireadrandom
  compare_run "$results" "$databases" "$keys-load" --num="$keys" --benchmarks=fillrandom,compact
  local threads
  for threads in 1 2; do
    compare_run "$results" "$databases" "$keys-memory-$threads" --num="$keys" --reads="$reads" \
      --use_existing_db --disable_auto_compactions --cache_size=4G --threads="$threads" \
      --rounds="$rounds" --warmup=1 --benchmarks="$lookups"
  done
  # Room for a quarter of the filters of 10 bits a key.
  compare_run "$results" "$databases" "$keys-small-cache" --num="$keys" --reads=$((reads / 50)) \
    --use_existing_db --disable_auto_compactions --cache_size=$((keys * 10 / 8 / 4)) \
    --cache_index_and_filter_blocks --rounds=1 --benchmarks=readmissing
}

compare_main() {
  local rounds="" databases="" quick=no sizes="" argument
  local results="$root/build/compare"
  for argument in "$@"; do
    case "$argument" in
      --quick) quick=yes ;;
      --keys=*) sizes="${argument#--keys=}" ;;
      --rounds=*) rounds="${argument#--rounds=}" ;;
      --db=*) databases="${argument#--db=}" ;;
      *) usage_error "unknown argument '$argument'" "compare --help" ;;
    esac
  done
  [ -z "$rounds" ] || [[ "$rounds" =~ ^[1-9][0-9]*$ ]] || usage_error "--rounds wants a number"
  [ -z "$sizes" ] || [[ "$sizes" =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] ||
    usage_error "--keys wants numbers with commas between them"
  [ -z "$sizes" ] || [ "$quick" = no ] || usage_error "--keys and --quick exclude each other"
  need_packages "${build_packages[@]}"
  configure release
  build_targets release winnow_bench

  rm -rf "$results"
  mkdir -p "$results"
  databases="$(databases_folder compare "$databases")"
  # Expanded now: the trap runs when the local variable is gone.
  # shellcheck disable=SC2064
  trap "rm -rf '$databases'" EXIT

  local started=$SECONDS keys
  if [ "$quick" = yes ]; then
    compare_size "$results" "$databases" 500000 250000 "${rounds:-3}"
  else
    sizes="${sizes:-1000000,3000000,10000000}"
    for keys in ${sizes//,/ }; do
      compare_size "$results" "$databases" "$keys" 500000 "${rounds:-5}"
      rm -rf "${databases:?}"/*
    done
  fi
  local files
  files="$(find "$results" -name '*.json' | sort -V | paste -sd,)"
  build/release/bin/winnow_bench --from_json="$files" --report="$results/compare.html" \
    >"$results/compare.log" || fail "no page was made from the results"
  python3 -B "$pieces/compare_table.py" "$results/compare.json" "$results"/*-*.json
  printf '\n%d s, the build aside. Plots: %s\n' $((SECONDS - started)) "$results/compare.html"
}
