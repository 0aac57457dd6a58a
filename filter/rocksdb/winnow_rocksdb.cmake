# The RocksDB FilterPolicy in Winnow's own build, if RocksDB is there. ThreadSanitizer sees no locks in a library that was built without it.
include(${CMAKE_CURRENT_LIST_DIR}/find_rocksdb.cmake)
if(WINNOW_ROCKSDB AND NOT WINNOW_SANITIZE MATCHES "thread")
  find_rocksdb()
endif()
if(TARGET RocksDB::rocksdb-shared)
  set(rocksdb_library RocksDB::rocksdb-shared)
elseif(TARGET RocksDB::rocksdb)
  set(rocksdb_library RocksDB::rocksdb)
else()
  return()
endif()

# winnow_rocksdb is for programs that call it; winnow_rocksdb_plugin is libwinnow_rocksdb.so, the
# same and registered on load, for programs that only load it.
file(GLOB rocksdb_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
set(register_on_load ${CMAKE_CURRENT_LIST_DIR}/register_on_load.cc)
list(REMOVE_ITEM rocksdb_sources ${register_on_load})
winnow_library(winnow_rocksdb
  SOURCES ${rocksdb_sources}
  DEPENDS winnow_filter ${rocksdb_library})
target_include_directories(winnow_rocksdb PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(NOT WINNOW_SANITIZE)
  # RocksDB's release builds have no typeinfo to derive ours from. The undefined-behaviour sanitizer
  # needs it.
  target_compile_options(winnow_rocksdb PRIVATE -fno-rtti)
  set_target_properties(winnow_rocksdb PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endif()
set_target_properties(winnow_rocksdb PROPERTIES EXPORT_NAME rocksdb)
add_library(Winnow::rocksdb ALIAS winnow_rocksdb)
if(NOT TARGET RocksDB::rocksdb-shared)
  return()  # nothing could be plugged into a program that has a RocksDB of its own inside
endif()

add_library(winnow_rocksdb_plugin SHARED ${register_on_load})
set(exported_symbols ${CMAKE_CURRENT_LIST_DIR}/exported_symbols.map)
target_link_libraries(winnow_rocksdb_plugin
  PUBLIC ${rocksdb_library} absl::status absl::statusor
  PRIVATE $<BUILD_INTERFACE:winnow_build_flags>
          "$<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,winnow_rocksdb>>")
target_include_directories(winnow_rocksdb_plugin INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(winnow_rocksdb_plugin PRIVATE
  -Wl,--version-script=${exported_symbols} -Wl,-z,nodelete)
set_target_properties(winnow_rocksdb_plugin PROPERTIES
  EXPORT_NAME rocksdb-plugin OUTPUT_NAME winnow_rocksdb LINK_DEPENDS ${exported_symbols})
add_library(Winnow::rocksdb-plugin ALIAS winnow_rocksdb_plugin)

# libwinnow_rocksdb_preload.so, which loads the plug-in where a program runs on the shared RocksDB. It needs the C library alone.
add_library(winnow_rocksdb_preload MODULE ${CMAKE_CURRENT_LIST_DIR}/preload/beside_rocksdb.cc)
target_compile_definitions(winnow_rocksdb_preload PRIVATE
  WINNOW_ROCKSDB_SONAME="$<TARGET_SONAME_FILE_NAME:RocksDB::rocksdb-shared>"
  WINNOW_PLUGIN_FILE="$<TARGET_FILE_NAME:winnow_rocksdb_plugin>")
target_compile_options(winnow_rocksdb_preload PRIVATE -fno-exceptions -fno-rtti)
target_link_libraries(winnow_rocksdb_preload PRIVATE winnow_build_flags ${CMAKE_DL_LIBS})
target_link_options(winnow_rocksdb_preload PRIVATE -Wl,--as-needed)
add_dependencies(winnow_rocksdb_preload winnow_rocksdb_plugin)
