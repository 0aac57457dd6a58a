# find_leveldb(): the target leveldb::leveldb, if there is a LevelDB, in the folder that calls it.
# -DLevelDB_ROOT=DIR chooses one that is not the system's: an installed one, or a source tree in which
# CMake has built a library.
macro(find_leveldb)
  if(NOT TARGET leveldb::leveldb)
    if(LevelDB_ROOT)
      find_leveldb_in_root()
    else()
      find_package(leveldb CONFIG QUIET)
    endif()
  endif()
endmacro()

macro(find_leveldb_in_root)
  cmake_path(IS_PREFIX LevelDB_ROOT "${leveldb_DIR}" NORMALIZE leveldb_found_there)
  if(NOT leveldb_found_there)
    unset(leveldb_DIR CACHE)  # of an earlier configuration
  endif()
  find_package(leveldb CONFIG QUIET NO_DEFAULT_PATH PATHS ${LevelDB_ROOT})
  if(NOT leveldb_FOUND)
    find_leveldb_library()
  endif()
  if(NOT TARGET leveldb::leveldb)
    message(FATAL_ERROR "LevelDB_ROOT=${LevelDB_ROOT} holds neither an installed LevelDB nor "
                        "include/leveldb/db.h with libleveldb.so or libleveldb.a")
  endif()
endmacro()

# The same target from headers and a library alone.
function(find_leveldb_library)
  find_path(leveldb_headers leveldb/db.h PATHS ${LevelDB_ROOT} PATH_SUFFIXES include
            NO_DEFAULT_PATH NO_CACHE)
  find_library(leveldb_library NAMES libleveldb.so libleveldb.a PATHS ${LevelDB_ROOT}
               PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} build build/release
               NO_DEFAULT_PATH NO_CACHE)
  if(NOT leveldb_headers OR NOT leveldb_library)
    return()
  endif()
  add_library(leveldb::leveldb UNKNOWN IMPORTED)
  set_target_properties(leveldb::leveldb PROPERTIES IMPORTED_LOCATION ${leveldb_library})
  target_include_directories(leveldb::leveldb INTERFACE ${leveldb_headers})
  target_link_libraries(leveldb::leveldb INTERFACE Threads::Threads)
  # A static library does not say what it was built with: all that it may need and that is here.
  foreach(library snappy crc32c zstd)
    find_library(leveldb_needs_${library} ${library} NO_CACHE)
    if(leveldb_needs_${library})
      target_link_libraries(leveldb::leveldb INTERFACE ${leveldb_needs_${library}})
    endif()
  endforeach()
endfunction()
