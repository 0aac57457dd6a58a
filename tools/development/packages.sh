# shellcheck shell=bash disable=SC2034,SC2154
# Debian and Ubuntu packages: which ones each task needs, and how a missing one gets here.
# Sourced by tools/dev.

# Stores that winnow_bench compares with, which not every release has: each is left out where it is
# not to be had.
readonly optional_packages=(liblmdb-dev libwiredtiger-dev)
readonly build_packages=(
  g++ cmake ninja-build pkg-config python3
  libabsl-dev libxxhash-dev libzstd-dev liblz4-dev libsnappy-dev
  libgtest-dev libgmock-dev libbenchmark-dev nlohmann-json3-dev
  librocksdb-dev rocksdb-tools libleveldb-dev libhiredis-dev redis-server redis-tools
  "${optional_packages[@]}"
)
# No compiler cache: precompiled headers, which it rules out, save more. Who has one, uses it.
readonly lint_packages=(clang clang-format universal-ctags)
readonly tidy_packages=(clang-tidy)
# For AddressSanitizer, whose programs clang makes in half of the time that g++ takes, and for
# fuzzing. (clang's ThreadSanitizer would not let tests replace operator new.)
readonly clang_packages=(clang libclang-rt-dev llvm)
# callgrind, which counts the instructions of the engine's calls.
readonly instruction_packages=(valgrind)
# Where there is a JDK, filters are exchanged with the Java library whose format we write.
readonly java_packages=(libguava-java)

# missing_packages NAME…: those that are not installed, one a line.
missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query --show --showformat='${db:Status-Status}\n' "$name" 2>/dev/null |
      grep -qx installed || echo "$name"
  done
}

# without_unavailable NAME…: all but those optional ones that apt does not offer, one a line.
without_unavailable() {
  local name
  for name in "$@"; do
    if [[ " ${optional_packages[*]} " == *" $name "* ]] &&
      ! apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]'; then
      continue
    fi
    echo "$name"
  done
}

# need_packages NAME…: installs what is missing, or says what to type and exits with 3. Optional ones
# that cannot be had are left out.
need_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    printf 'tools/dev: no apt here; assuming that these are installed: %s\n' "$*" >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  # Without lists apt offers nothing yet.
  if compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
    mapfile -t missing < <(without_unavailable ${missing[@]+"${missing[@]}"})
  fi
  [ ${#missing[@]} -eq 0 ] && return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && as_root=(sudo)
  fi
  if [ "$install_allowed" = no ] || { [ "$(id -u)" -ne 0 ] && [ ${#as_root[@]} -eq 0 ]; }; then
    local name needed=no
    for name in "${missing[@]}"; do
      [[ " ${optional_packages[*]} " == *" $name "* ]] || needed=yes
    done
    [ "$needed" = yes ] || return 0
    printf 'tools/dev: packages are missing. As root, type:\n  apt-get install %s\n' \
      "${missing[*]}" >&2
    exit 3
  fi

  say "installing packages: ${missing[*]}"
  local apt=(${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive
    apt-get -q -o Acquire::Retries=5 -o DPkg::Lock::Timeout=300)
  # A source that is down must not stop us: the packages may come from the others.
  "${apt[@]}" update || echo "tools/dev: apt-get update reported errors; going on" >&2
  mapfile -t missing < <(without_unavailable "${missing[@]}")
  [ ${#missing[@]} -eq 0 ] && return 0
  "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" || {
    echo "tools/dev: these packages could not be installed: ${missing[*]}" >&2
    exit 3
  }
}
