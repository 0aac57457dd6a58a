#!/usr/bin/env bash
# imported_symbols_test.sh LIBRARY: the library reads and writes its files by the system's calls
# alone. C's stdio and C++'s file streams keep buffers that the application can flush behind the
# library's back (fflush(NULL) did, LevelDB issue 474). Nor does it hold what has libraries of its own.
set -euo pipefail
readonly library="$1"

imported="$(nm --dynamic --undefined-only --demangle "$library")"
grep -qw 'fsync\|fdatasync' <<<"$imported" || {
  echo "$library: no call that syncs a file was found; does this test still see the imports?" >&2
  exit 1
}
if grep -E 'hiredis|redisConnect' <<<"$imported" ||
  nm --demangle "$library" | grep -E 'winnow::(guard|filter::redis)::'; then
  echo "$library: what guards caches and asks Redis has libraries of its own" >&2
  exit 1
fi
if grep -E ' (f|fd|fre)open(64)?(@|$)| fwrite| fputs| fflush| setvbuf|basic_filebuf|basic_[io]?fstream' \
  <<<"$imported"; then
  echo "$library: must not use stdio or file streams (see above)" >&2
  exit 1
fi
