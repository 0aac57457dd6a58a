#!/usr/bin/env bash
# penetration_example_test.sh PROGRAM: the example's table has the figures that its ways must have, and its
# page the same ones with a plot.
set -euo pipefail
readonly program="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n%s\n' "$*" "$(cat "$work/table")" >&2; exit 1; }

"$program" "$work/page.html" >"$work/table"
# reads WAY: of the database.
reads() { sed -n "s/^$1 *200000 *\([0-9]*\) .*/\1/p" "$work/table"; }
alone="$(reads 'cache alone')"
remembered="$(reads 'guard without a filter')"
filtered="$(reads 'guard with a filter')"
# All 180,000 absent keys; those that come again are few. Of 20,000 users at most each is read once.
[ "$alone" -ge 180000 ] || fail "cache alone: $alone reads"
[ "$remembered" -le "$alone" ] || fail "remembering absent keys costs reads: $remembered"
# 1 % of 180,000 and 4 standard deviations, and the users.
readonly most=$((1800 + 4 * 43))
users=$((alone - 180000))
[ "$filtered" -le $((most + users)) ] || fail "behind the filter: $filtered reads"
[ "$filtered" -gt "$users" ] || fail "behind the filter: $filtered reads, fewer than users"
grep -q '<svg' "$work/page.html" || fail "no plot"
grep -qF "guard with a filter" "$work/page.html" || fail "no table in the page"
if "$program" /no/such/folder/page.html >/dev/null 2>"$work/error"; then fail "written nowhere"; fi
grep -qF /no/such/folder "$work/error" || fail "the error does not name the file"
