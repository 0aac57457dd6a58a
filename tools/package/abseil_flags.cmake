# Abseil in the pkg-config files. Its own files are not named there: each of them brings -DNOMINMAX,
# which is for Windows and would reach every user, and all forty libraries of Abseil, of which a
# program links those that it calls.
#
#   abseil_cflags         where the headers are, if not where compilers look anyway
#   abseil_libs           what our archives call, and the inline functions of our headers and of the
#                         types that they give: a status has its message as a string_view
#   abseil_format_libs    what those archives call that format text
#   abseil_static_libs    everything, for --static
pkg_check_modules(ABSEIL QUIET absl_statusor absl_strings absl_synchronization absl_time)
set(abseil_cflags ${ABSEIL_CFLAGS})
list(REMOVE_ITEM abseil_cflags -DNOMINMAX)
set(abseil_folders ${ABSEIL_LDFLAGS})
list(FILTER abseil_folders INCLUDE REGEX "^-L")
set(abseil_libs ${abseil_folders} -labsl_statusor -labsl_status -labsl_strings
                -labsl_throw_delegate)
set(abseil_format_libs -labsl_str_format_internal)
set(abseil_static_libs ${ABSEIL_STATIC_LDFLAGS})
foreach(flags abseil_cflags abseil_libs abseil_format_libs abseil_static_libs)
  list(JOIN ${flags} " " ${flags})
endforeach()
