#!/usr/bin/env bash
# RocksDB's own db_bench, ldb and sst_dump, as they are packaged, with the library preloaded and an
# options file: every kind, the promised false-positive rate by RocksDB's statistics, the same
# answers with and without the library. Exit code 77: the tools are not installed.
set -euo pipefail
# The library, and a program that lists the kinds.
readonly library="$1" list_kinds="$2" keys=100000
for tool in db_bench ldb sst_dump; do
  command -v "$tool" >/dev/null || { echo "$tool is missing (package rocksdb-tools)"; exit 77; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }

options_file() {
  cat >"$work/options.ini" <<TEXT
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  table_factory=BlockBasedTable
  compression=kNoCompression
  write_buffer_size=2097152
[TableOptions/BlockBasedTable "default"]
  filter_policy=$1
TEXT
}

# bench BENCHMARKS OPTION…: db_bench with the library, its output in $work/log.
bench() {
  local benchmarks="$1"
  shift
  LD_PRELOAD="$library" db_bench --options_file="$work/options.ini" --db="$work/db" \
    --num=$keys --benchmarks="$benchmarks" --statistics --seed=7 "$@" >"$work/log" 2>&1
}

# ticker NAME: its count in the log.
ticker() { sed -n "s/^rocksdb\.$1 COUNT : //p" "$work/log" | tail -n 1; }

# The share of absent keys that the filters of the last run let through, in millionths.
rate_in_millionths() {
  local rejected passed
  rejected="$(ticker bloom.filter.useful)"
  passed="$(ticker bloom.filter.full.positive)"
  [ $((rejected + passed)) -ge $((keys / 2)) ] || fail "only $rejected + $passed answers"
  echo $((1000000 * passed / (rejected + passed)))
}

for kind in $("$list_kinds"); do
  [ "$kind" = none ] && continue
  rm -rf "$work/db"
  options_file "winnow.$kind:1%"
  bench fillrandom,compact,readmissing || fail "$kind: $(tail -n 5 "$work/log")"
  grep -q "filter_policy=winnow.$kind:1%" "$work"/db/OPTIONS-* ||
    fail "$kind: not in the database's OPTIONS file"
  rate="$(rate_in_millionths)"
  [ "$rate" -le 12000 ] || fail "$kind: $rate of a million absent keys passed, not 10000"

  with="$(LD_PRELOAD="$library" ldb --db="$work/db" scan --hex | md5sum)"
  without="$(ldb --db="$work/db" scan --hex | md5sum)"
  [ "$with" = "$without" ] || fail "$kind: ldb scan differs without the library"
  LD_PRELOAD="$library" ldb --db="$work/db" --try_load_options scan --max_keys=1 >/dev/null ||
    fail "$kind: ldb cannot load the options"
  key="$(ldb --db="$work/db" scan --hex --max_keys=1 | cut -d' ' -f1)"
  value="$(ldb --db="$work/db" get --hex "$key")"
  [ -n "$value" ] || fail "$kind: ldb get without the library"
  [ "$value" = "$(LD_PRELOAD="$library" ldb --db="$work/db" get --hex "$key")" ] ||
    fail "$kind: ldb get differs without the library"
  for preload in "" "$library"; do
    LD_PRELOAD="$preload" sst_dump --file="$work/db" --command=check --show_properties \
      >"$work/log" 2>&1 || fail "$kind: sst_dump: $(cat "$work/log")"
    grep -q "filter policy name: winnow.$kind" "$work/log" || fail "$kind: not in the properties"
  done

  # Without the library, with RocksDB's defaults: slower, and right.
  db_bench --db="$work/db" --use_existing_db --num=$keys --benchmarks=readrandom --statistics \
    --seed=7 >"$work/log" 2>&1
  found="$(sed -n 's/.*(\([0-9]*\) of .* found).*/\1/p' "$work/log")"
  [ "$found" -ge $((keys / 2)) ] || fail "$kind: $found found without the library"
  [ "$(ticker bloom.filter.useful)" = 0 ] || fail "$kind: whose filter was that?"

  # And back, with another kind: the old filters go on being used.
  options_file "winnow.bloom:8"
  bench readmissing --use_existing_db --disable_auto_compactions
  [ "$(rate_in_millionths)" -le 12000 ] || fail "$kind: old filters are not used"
  echo "$kind: $rate of a million absent keys passed"
done

# RocksDB goes on without a filter when it meets a wrong name in an options file, and says nothing.
for wrong in "winnow.cucko:1%" "winnow:cuckoo:1%" "Winnow.cuckoo:1%" "cuckoo:1%"; do
  options_file "$wrong"
  rm -rf "$work/db"
  bench fillseq || true
  [ "$(grep -c "did you mean '.*cuckoo" "$work/log")" = 1 ] ||
    fail "no help with '$wrong': $(cat "$work/log")"
done

# As README.md warns: a tool that writes with the options of the database, but without the library,
# leaves an options file without a filter.
last_policy() { sed -n 's/^ *filter_policy=//p' "$(ls "$work"/db/OPTIONS-* | tail -n 1)"; }
options_file "winnow.bloom:8"
rm -rf "$work/db"
bench fillseq
[ "$(last_policy)" = winnow.bloom:8 ] || fail "the filter is '$(last_policy)' at first"
LD_PRELOAD="$library" ldb --db="$work/db" --try_load_options put key value >"$work/log" 2>&1
[ "$(last_policy)" = winnow.bloom:8 ] || fail "ldb with the library wrote '$(last_policy)'"
ldb --db="$work/db" --try_load_options put key value >"$work/log" 2>&1
[ "$(last_policy)" = nullptr ] || fail "ldb without the library wrote '$(last_policy)': README.md"
