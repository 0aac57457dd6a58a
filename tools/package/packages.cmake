# `cpack -G DEB` in a build folder: a Debian package for each component.
#   runtime      libwinnow          libwinnow.so
#   bindings     libwinnow-c        libwinnow-c.so, libleveldb-winnow.so
#   development  libwinnow-dev      headers, static libraries, CMake and pkg-config files
#   tools        winnow-tools       winnow, winnow_bench
#   rocksdb      winnow-rocksdb     filters for RocksDB, where they are built
#   guard        libwinnow-guard-dev  the cache guard, where it is built
#   redis        libwinnow-redis-dev  filters on a Redis server, where they are built
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME winnow)
set(CPACK_PACKAGE_VENDOR "Winnow")
set(CPACK_PACKAGE_CONTACT "the Winnow developers <winnow@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

get_cmake_property(components COMPONENTS)
set(CPACK_COMPONENTS_ALL "")
foreach(component runtime bindings development tools rocksdb guard redis)
  if(component IN_LIST components)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endif()
endforeach()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libwinnow)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library, with C++ and C interfaces.")

set(CPACK_DEBIAN_BINDINGS_PACKAGE_NAME libwinnow-c)
set(CPACK_DEBIAN_BINDINGS_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_BINDINGS_DESCRIPTION
    "The C interface, and LevelDB's, as libraries that other languages load.")

set(development_package libwinnow-dev)
if(NOT WINNOW_ENGINE)  # the filter library alone is one package
  set(development_package libwinnow-filter-dev)
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${development_package})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Headers (LevelDB's among them), static libraries, CMake and pkg-config files.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libwinnow (= ${PROJECT_VERSION}), libwinnow-c (= ${PROJECT_VERSION}), libabsl-dev, libxxhash-dev, libzstd-dev, liblz4-dev, libsnappy-dev, pkg-config")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME winnow-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION database)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The command line (winnow) and the benchmark (winnow_bench).")

set(CPACK_DEBIAN_ROCKSDB_PACKAGE_NAME winnow-rocksdb)
set(CPACK_DEBIAN_ROCKSDB_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_ROCKSDB_DESCRIPTION "Winnow's filters for unmodified RocksDB programs.")

set(CPACK_DEBIAN_GUARD_PACKAGE_NAME libwinnow-guard-dev)
set(CPACK_DEBIAN_GUARD_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_GUARD_PACKAGE_DEPENDS "${development_package} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_GUARD_DESCRIPTION
    "Winnow's guard in front of a cache: headers, static library.")

set(CPACK_DEBIAN_REDIS_PACKAGE_NAME libwinnow-redis-dev)
set(CPACK_DEBIAN_REDIS_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_REDIS_PACKAGE_DEPENDS
    "${development_package} (= ${PROJECT_VERSION}), libhiredis-dev")
if(TARGET winnow_redis_guard)  # which is in it
  string(APPEND CPACK_DEBIAN_REDIS_PACKAGE_DEPENDS
         ", libwinnow-guard-dev (= ${PROJECT_VERSION})")
endif()
set(CPACK_COMPONENT_REDIS_DESCRIPTION "Winnow's filters on a Redis server: headers, static library.")

if(NOT WINNOW_ENGINE)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libabsl-dev, libxxhash-dev, pkg-config")
endif()
include(CPack)
