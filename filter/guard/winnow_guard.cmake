# The cache guard, a library of its own: it sees the filters, and neither the engine nor Redis.
if(NOT WINNOW_GUARD)
  return()
endif()
file(GLOB guard_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
winnow_library(winnow_guard
  SOURCES ${guard_sources}
  DEPENDS winnow_filter absl::status absl::statusor absl::strings absl::str_format Threads::Threads)
target_include_directories(winnow_guard PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(winnow_guard PROPERTIES EXPORT_NAME guard)
add_library(Winnow::guard ALIAS winnow_guard)
