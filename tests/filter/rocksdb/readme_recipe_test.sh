#!/usr/bin/env bash
# Runs the commands of README.md's section on RocksDB as they stand there, but for two paths. Exit
# code 77: RocksDB's tools are not installed.
set -euo pipefail
readonly readme="$1" library="$2"
for tool in db_bench ldb; do
  command -v "$tool" >/dev/null || { echo "$tool is missing (package rocksdb-tools)"; exit 77; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$*" >&2; cat "$work/log" >&2; exit 1; }

sed -n '/^## Inside RocksDB/,/^## /p' "$readme" | sed -n '/^```sh/,/^```/p' | sed '/^```/d' |
  sed -e "s|\$PWD/build/release/lib/libwinnow_rocksdb_preload.so|$library|" -e "s|/tmp/winnow-rocksdb|$work/winnow-rocksdb|g" \
    >"$work/recipe.sh"
for part in db_bench ldb LD_PRELOAD "$library" "$work/winnow-rocksdb"; do
  grep -qF "$part" "$work/recipe.sh" || { cp "$work/recipe.sh" "$work/log"; fail "no $part in it"; }
done
cd "$work"
bash -euo pipefail recipe.sh >"$work/log" 2>"$work/errors" ||
  { cat "$work/errors" >>"$work/log"; fail "the recipe failed"; }
rejected="$(sed -n 's/^rocksdb.bloom.filter.useful COUNT : //p' "$work/log")"
passed="$(sed -n 's/^rocksdb.bloom.filter.full.positive COUNT : //p' "$work/log")"
grep -q '^readmissing .*(0 of 500000 found)' "$work/log" || fail "no line of readmissing"
[ "$rejected" -ge 490000 ] || fail "$rejected look-ups of 500000 were rejected"
[ $((rejected + passed)) -le 500000 ] || fail "$rejected and $passed: more answers than look-ups"
[ "$(grep -c '^0x.* : 0x' "$work/log")" = 3 ] || fail "ldb has not printed three entries"
