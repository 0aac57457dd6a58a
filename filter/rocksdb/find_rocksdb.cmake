# find_rocksdb(): the targets RocksDB::rocksdb-shared and RocksDB::rocksdb (static), as far as there
# are libraries, in the folder that calls it. -DRocksDB_ROOT=DIR chooses a RocksDB that is not the
# system's: an installed one, or a source tree in which make or CMake has built a library.
macro(find_rocksdb)
  if(NOT TARGET RocksDB::rocksdb-shared AND NOT TARGET RocksDB::rocksdb)
    if(RocksDB_ROOT)
      find_rocksdb_in_root()
    else()
      find_package(RocksDB CONFIG QUIET)
    endif()
  endif()
  # RocksDB's installed CMake package names this target, if it was built with it, and does not make it.
  if(TARGET RocksDB::rocksdb AND NOT TARGET uring::uring)
    find_library(rocksdb_uring uring NO_CACHE)
    if(rocksdb_uring)
      add_library(uring::uring UNKNOWN IMPORTED)
      set_target_properties(uring::uring PROPERTIES IMPORTED_LOCATION ${rocksdb_uring})
    endif()
  endif()
endmacro()

macro(find_rocksdb_in_root)
  cmake_path(IS_PREFIX RocksDB_ROOT "${RocksDB_DIR}" NORMALIZE rocksdb_found_there)
  if(NOT rocksdb_found_there)
    unset(RocksDB_DIR CACHE)  # of an earlier configuration
  endif()
  find_package(RocksDB CONFIG QUIET NO_DEFAULT_PATH PATHS ${RocksDB_ROOT})
  if(NOT RocksDB_FOUND)
    find_rocksdb_libraries()
  endif()
  if(NOT TARGET RocksDB::rocksdb-shared AND NOT TARGET RocksDB::rocksdb)
    message(FATAL_ERROR "RocksDB_ROOT=${RocksDB_ROOT} holds neither an installed RocksDB nor "
                        "include/rocksdb/db.h with librocksdb.so or librocksdb.a")
  endif()
endmacro()

# The same two targets from headers and libraries alone.
function(find_rocksdb_libraries)
  find_path(rocksdb_headers rocksdb/db.h PATHS ${RocksDB_ROOT} PATH_SUFFIXES include
            NO_DEFAULT_PATH NO_CACHE)
  set(folders lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} build build/release)
  find_library(rocksdb_shared librocksdb.so PATHS ${RocksDB_ROOT} PATH_SUFFIXES ${folders}
               NO_DEFAULT_PATH NO_CACHE)
  find_library(rocksdb_static librocksdb.a PATHS ${RocksDB_ROOT} PATH_SUFFIXES ${folders}
               NO_DEFAULT_PATH NO_CACHE)
  if(NOT rocksdb_headers)
    return()
  endif()
  if(rocksdb_shared)
    add_library(RocksDB::rocksdb-shared SHARED IMPORTED)
    set_target_properties(RocksDB::rocksdb-shared PROPERTIES IMPORTED_LOCATION ${rocksdb_shared})
    target_include_directories(RocksDB::rocksdb-shared INTERFACE ${rocksdb_headers})
    target_link_libraries(RocksDB::rocksdb-shared INTERFACE Threads::Threads)
  endif()
  if(rocksdb_static)
    add_library(RocksDB::rocksdb STATIC IMPORTED)
    set_target_properties(RocksDB::rocksdb PROPERTIES IMPORTED_LOCATION ${rocksdb_static})
    target_include_directories(RocksDB::rocksdb INTERFACE ${rocksdb_headers})
    target_link_libraries(RocksDB::rocksdb INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
    # A static library does not say what it was built with: all that it may need and that is here.
    foreach(library snappy lz4 zstd z bz2 uring numa tbb)
      find_library(rocksdb_needs_${library} ${library} NO_CACHE)
      if(rocksdb_needs_${library})
        target_link_libraries(RocksDB::rocksdb INTERFACE ${rocksdb_needs_${library}})
      endif()
    endforeach()
  endif()
endfunction()
