# shellcheck shell=bash disable=SC2154
# Where a measuring command makes its databases. Sourced by those commands.

# databases_folder COMMAND CHOSEN: prints an empty folder: the one that was chosen, or a new one in
# build/.
databases_folder() {
  local command="$1" chosen="$2"
  if [ -z "$chosen" ]; then
    mktemp -d "$root/build/$command-databases-XXXXXX"
    return
  fi
  mkdir -p "$chosen"
  [ -z "$(ls -A "$chosen")" ] || fail "$chosen is not empty"
  printf '%s\n' "$chosen"
}
