# shellcheck shell=bash disable=SC2154
# The `corrupt` command. Sourced by tools/dev.

corrupt_usage() {
  cat <<'TEXT'
tools/dev corrupt [--count=N] [--seed=S] [--long]
tools/dev corrupt --mixups=N [--seed=S]

Damages the files of a small database in memory, with a column family for each filter kind, as a
clean close and as a killed process leave it. After each damage it is opened (in the three recovery
modes in turn), every key is read by Get, MultiGet, Exists, MayExist and iterator, and it is verified;
every 16th time it is compacted and read once more. Each answer must be right or a clear error that
names a file; damaged filters must be counted and cost no answer; writes of a damaged log are lost as
the recovery mode says, and that is told; no request for memory is above 4 MiB.

All that can be enumerated comes first: one random bit of every byte, files cut at every 13th length
and around each block and record, zeroed 512-byte pieces, blocks and records swapped and copied within
a file and between files, files in each other's place. Random damage follows until there are N.

Then files of other databases, with several levels, deletions and a history, are taken away, swapped,
renamed, cut, prepended to, flipped, zeroed, replaced by those of an earlier time or of another database,
one to three such ways at once, and what `winnow repair` makes of them is compared with the best that any
reader could rescue: each newest entry whose block or log is still there must be, no value may appear
that a key never had, and no file may be gone.

  --count=N    default 50000; more if the enumeration alone is more
  --mixups=N   only the second part, N trials (default: 2000 behind the first part)
  --seed=S     of the bits, of the random damage and of the databases; default 1
  --long       every bit of every byte, every recovery mode

  tools/dev corrupt                        about a minute on two cores
  tools/dev corrupt --count=500000 --seed=7
  tools/dev corrupt --mixups=100000        about ten minutes
  tools/dev corrupt --long                 about half an hour

The table counts outcomes by part of file: harmless (all right, nothing lost), filter (the same, with
the filter given up), errors (some answers are errors), refused (does not open), reported (writes lost
and told), torn end (writes lost at the end of an unclosed log, as a crash may lose them), WRONG. Exit
code 1 if anything is wrong; the damage is named.
TEXT
}

corrupt_main() {
  local argument mixups=2000 seed=1 flips=() only_mixups=no
  for argument in "$@"; do
    case "$argument" in
      --count=* | --seed=* | --mixups=*)
        [[ "${argument#*=}" =~ ^[0-9]+$ ]] ||
          usage_error "${argument%%=*} wants a number, not '${argument#*=}'" "corrupt --help"
        ;;
    esac
    case "$argument" in
      --count=* | --long) flips+=("$argument") ;;
      --seed=*) flips+=("$argument") seed="${argument#*=}" ;;
      --mixups=*) mixups="${argument#*=}" only_mixups=yes ;;
      *) usage_error "unknown argument '$argument'" "corrupt --help" ;;
    esac
  done
  need_packages "${build_packages[@]}"
  configure release
  build_targets release corrupt_campaign recovery_oracle_campaign
  if [ "$only_mixups" = no ]; then
    say "damaging"
    "$root/build/release/bin/corrupt_campaign" --jobs="$jobs" ${flips[@]+"${flips[@]}"} ||
      fail "wrong answers"
  fi
  say "mixing files up"
  "$root/build/release/bin/recovery_oracle_campaign" --jobs="$jobs" --seed="$seed" \
    --count=$(((mixups + 19) / 20)) || fail "a repair lost what could be rescued"
}
