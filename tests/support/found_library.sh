# shellcheck shell=bash disable=SC2154
# Does a CMake macro of ours find a library as it was built, installed or not? One with a single
# function stands for it. Sourced, with `project`, `cmake` and `compiler` set, and then:
#   name=LevelDB  folder=leveldb    (of -DNAME_ROOT and of include/FOLDER/db.h)
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty" "$work/user"

# tree DIR NUMBER: a tree with the library's header, and an object file whose function gives NUMBER.
tree() {
  mkdir -p "$1/include/$folder"
  echo 'int Answer();' >"$1/include/$folder/db.h"
  echo "int Answer() { return $2; }" >"$1/$folder.cc"
  "$compiler" -fPIC -c "$1/$folder.cc" -o "$1/$folder.o"
}

# user FILE: a program in which FILE of the project is included; its other lines come from stdin.
user() {
  {
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n'
    printf 'find_package(Threads REQUIRED)\ninclude(%s)\n' "$project/$1"
    cat
  } >"$work/user/CMakeLists.txt"
  printf '#include <%s/db.h>\nint main() { return Answer(); }\n' "$folder" >"$work/user/user.cc"
}

configure() {
  "$cmake" -S "$work/user" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_LIBRARY_PATH="$work/installed/lib" "-D${name}_ROOT=$work/$1" >"$work/log" 2>&1
}

# One build folder for all: what an earlier configuration has found does not stick.
expect() {
  local code=0
  configure "$1" && "$cmake" --build "$work/build" >>"$work/log" 2>&1 || {
    cat "$work/log"
    echo "${name}_ROOT=$1 does not build"
    exit 1
  }
  "$work/build/user" || code=$?
  [ "$code" -eq "$2" ] || { echo "${name}_ROOT=$1 gave the library $code"; exit 1; }
}

expect_no_library_in_an_empty_folder() {
  if configure empty; then
    echo "an empty folder passed for a $name"
    exit 1
  fi
  tr -s '\n ' ' ' <"$work/log" | grep -qF "holds neither an installed $name nor" || {
    cat "$work/log"
    exit 1
  }
}
