# Filters on a Redis server, where hiredis is.
if(NOT WINNOW_REDIS)
  return()
endif()
pkg_check_modules(HIREDIS QUIET IMPORTED_TARGET hiredis)
if(NOT HIREDIS_FOUND)
  return()
endif()

file(GLOB redis_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
winnow_library(winnow_redis
  SOURCES ${redis_sources}
  DEPENDS winnow_filter)
# No public header shows hiredis, and what it is compiled with is not its users' concern.
target_link_libraries(winnow_redis PRIVATE PkgConfig::HIREDIS)
# hiredis' flags define _FILE_OFFSET_BITS, which the precompiled headers were made without.
set_target_properties(winnow_redis PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
target_include_directories(winnow_redis PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(winnow_redis PROPERTIES EXPORT_NAME redis)
add_library(Winnow::redis ALIAS winnow_redis)

# The cache guard's cache and filter on Redis, where both are built.
function(winnow_add_redis_guard)
  winnow_library(winnow_redis_guard
    SOURCES ${PROJECT_SOURCE_DIR}/filter/redis/guard/guard_cache.cc
            ${PROJECT_SOURCE_DIR}/filter/redis/guard/guard_filter.cc
    DEPENDS winnow_redis winnow_guard)
  set_target_properties(winnow_redis_guard PROPERTIES EXPORT_NAME redis_guard)
  add_library(Winnow::redis_guard ALIAS winnow_redis_guard)
endfunction()
if(TARGET winnow_guard)
  winnow_add_redis_guard()
endif()
