# The libraries for other languages (component bindings), and LevelDB's own names for programs that
# look for them.
install(TARGETS winnow_c EXPORT WinnowCTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT bindings NAMELINK_COMPONENT development)
install_exported(WinnowCTargets)
get_property(in_one_file GLOBAL PROPERTY WINNOW_BINDINGS_IN_ONE_FILE)
set(winnow_packages_c "")  # for WinnowConfig.cmake
if(NOT in_one_file)
  set(winnow_packages_c absl)
endif()
install_pkg_config(winnow-c)
install(TARGETS winnow_leveldb_c
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT bindings NAMELINK_SKIP)

# A folder for LD_LIBRARY_PATH, with each name by which programs load LevelDB: FFI's, upstream's and
# Debian's, and that of those that were linked with the library here. Nobody finds it without being
# told to.
set(leveldb_names ${CMAKE_CURRENT_BINARY_DIR}/leveldb_names)
file(MAKE_DIRECTORY ${leveldb_names})
foreach(name libleveldb.so libleveldb.so.1 libleveldb.so.1d libleveldb-winnow.so.1)
  file(CREATE_LINK ../../libleveldb-winnow.so.1 ${leveldb_names}/${name} SYMBOLIC)
  install(FILES ${leveldb_names}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/winnow/leveldb
          COMPONENT bindings)
endforeach()

# For projects that look for LevelDB by name and are compiled anew: <leveldb/db.h>, -lleveldb, a
# pkg-config file and a CMake package. They would be found in place of LevelDB by everything else that
# is compiled with the same prefix, and so are installed on request:
# cmake --install BUILD --component leveldb.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/engine/include/winnow/compat/leveldb
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT leveldb EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.h")
# C programs do not link the C++ library by themselves.
set(libleveldb_needs ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER libleveldb_needs INCLUDE REGEX "\\+\\+$|^m$")
list(TRANSFORM libleveldb_needs PREPEND "-l")
list(PREPEND libleveldb_needs ${ABSEIL_STATIC_LDFLAGS} -lxxhash -lzstd -llz4 -lsnappy -lpthread)
list(FILTER libleveldb_needs INCLUDE REGEX "^-l")
list(REMOVE_DUPLICATES libleveldb_needs)
list(REMOVE_ITEM libleveldb_needs -latomic)  # which 64-bit machines do without
list(JOIN libleveldb_needs " " libleveldb_needs)
configure_file(libleveldb.a.in libleveldb.a @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libleveldb.a
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT leveldb EXCLUDE_FROM_ALL)
set(leveldb_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/leveldb)
install_pkg_config(leveldb COMPONENT leveldb EXCLUDE_FROM_ALL)
configure_package_config_file(leveldbConfig.cmake.in leveldbConfig.cmake
                              INSTALL_DESTINATION ${leveldb_package_folder})
write_basic_package_version_file(leveldbConfigVersion.cmake VERSION 1.23.0
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/leveldbConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/leveldbConfigVersion.cmake
        DESTINATION ${leveldb_package_folder} COMPONENT leveldb EXCLUDE_FROM_ALL)
