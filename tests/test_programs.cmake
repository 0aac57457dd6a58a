# The functions that declare tests. One program holds the tests of one folder, since linking each
# source alone costs more than it tells; ctest still has one entry for each source.
#
# To add a test: write NAME_test.cc in the folder of the room that it tests, and add
# winnow_test(NAME_test) below the winnow_tests(...) of that folder's CMakeLists.txt.

set(WINNOW_TEST_LABEL "" CACHE STRING "Build only the tests with this label")

# Entry and program, one pair a line, for scripts that build no more than what they run.
set(winnow_test_list ${PROJECT_BINARY_DIR}/test_programs.txt)
file(WRITE ${winnow_test_list} "")

# winnow_tests(ROOM DEPENDS targets... [SOURCES files...] [DEFINITIONS name=value...]
# [NEEDS targets...]): the program ROOM_tests, which the winnow_test lines after it fill. SOURCES
# hold what its tests share, and NEEDS are programs that it starts.
function(winnow_tests room)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "DEPENDS;SOURCES;DEFINITIONS;NEEDS")
  set(program ${room}_tests)
  add_executable(${program} ${ARG_SOURCES})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${program} PRIVATE ${ARG_DEFINITIONS})
  target_compile_options(${program} PRIVATE ${winnow_test_options})
  target_link_libraries(${program} PRIVATE ${ARG_DEPENDS} winnow_build_flags GTest::gmock
                        GTest::gtest GTest::gtest_main)
  winnow_unity_build(${program})
  if(ARG_NEEDS)
    add_dependencies(${program} ${ARG_NEEDS})
  endif()
  winnow_precompiled_headers(${program} winnow_test_headers)
  if(WINNOW_TEST_LABEL)  # which perhaps none of the tests has
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${program}.cc "")
    target_sources(${program} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${program}.cc)
  endif()
  set(entries ${CMAKE_CURRENT_BINARY_DIR}/${program}.entries)
  file(WRITE ${entries} "")
  add_custom_command(TARGET ${program} POST_BUILD
                     COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}>
                             -DENTRIES=${entries}
                             -P ${PROJECT_SOURCE_DIR}/tests/check_entries.cmake
                     VERBATIM)
  set(winnow_test_program ${program} PARENT_SCOPE)
endfunction()

# winnow_test(NAME [SOURCES files...] [LABELS labels...] [TIMEOUT seconds] [ENVIRONMENT name=value...]
# [ALONE]): a ctest entry that runs the suites of NAME.cc, or of SOURCES, in the program of the last
# winnow_tests. ALONE keeps its sources out of the units of eight. Label "concurrent" what
# ThreadSanitizer should see in continuous integration, "slow" what quick runs leave out, and
# "unthreaded" what asks millions of questions on one thread, where ThreadSanitizer can find nothing
# and AddressSanitizer little: its quick share leaves that out.
function(winnow_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "ALONE" "TIMEOUT" "SOURCES;LABELS;ENVIRONMENT")
  if(WINNOW_TEST_LABEL AND NOT WINNOW_TEST_LABEL IN_LIST ARG_LABELS)
    return()
  endif()
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(WINNOW_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  target_sources(${winnow_test_program} PRIVATE ${ARG_SOURCES})
  if(ARG_ALONE)
    set_source_files_properties(${ARG_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  winnow_suites_of(filter ${ARG_SOURCES})
  file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/${winnow_test_program}.entries "${name} ${filter}\n")
  file(APPEND ${winnow_test_list} "${name} ${winnow_test_program}\n")
  add_test(NAME ${name} COMMAND ${winnow_test_program} "--gtest_filter=${filter}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                       ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# The --gtest_filter that selects the test suites of the sources, and no others.
function(winnow_suites_of result)
  set(patterns "")
  foreach(source ${ARGN})
    file(READ ${source} text)
    string(REGEX MATCHALL "\n(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\\([ \n]*[A-Za-z0-9_]+"
           tests "\n${text}")
    if(NOT tests)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${source} holds no test")
    endif()
    foreach(test ${tests})
      string(REGEX REPLACE "^\n([A-Z_]+)\\([ \n]*(.+)$" "\\1;\\2" test "${test}")
      list(GET test 0 macro)
      list(GET test 1 suite)
      if(macro STREQUAL "TEST_P")  # with and without a prefix of its own
        list(APPEND patterns "*/${suite}.*" "${suite}.*")
      elseif(macro STREQUAL "TYPED_TEST")
        list(APPEND patterns "${suite}/*.*")
      elseif(macro STREQUAL "TYPED_TEST_P")
        list(APPEND patterns "*/${suite}/*.*")
      else()
        list(APPEND patterns "${suite}.*")
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES patterns)
  list(JOIN patterns ":" patterns)
  set(${result} "${patterns}" PARENT_SCOPE)
endfunction()
