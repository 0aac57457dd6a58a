#!/usr/bin/env bash
# examples_test.sh PROGRAM_FOLDER SHARED_LIBRARY PYTHON: runs each example in an empty folder and
# compares what all of them print with expected.txt. Without PYTHON its example is left out.
set -euo pipefail
readonly programs="$1" library="$2" python="${3-}"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

run_all() {
  local name
  echo address_book_c
  "$programs/address_book_c"
  echo address_book.py
  if [ -n "$python" ]; then
    "$python" "$here/address_book.py" "$library"
  else
    sed '1,/^address_book.py$/d; /^crawl_frontier$/,$d' "$here/expected.txt"
  fi
  for name in crawl_frontier seen_feed_items web_table; do
    echo "$name"
    "$programs/$name"
  done
  echo database_cache
  if [ -x "$programs/database_cache" ]; then  # not where the guard is not built
    "$programs/database_cache"
  else
    sed '1,/^database_cache$/d' "$here/expected.txt"
  fi
}
run_all | diff "$here/expected.txt" -
