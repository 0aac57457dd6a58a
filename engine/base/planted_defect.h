// Defects that `tools/dev mutants` plants one at a time to see that a test fails.
#ifndef WINNOW_ENGINE_BASE_PLANTED_DEFECT_H_
#define WINNOW_ENGINE_BASE_PLANTED_DEFECT_H_

// WINNOW_DEFECT(name): false, and nothing in the object code. With -DWINNOW_PLANTED_DEFECTS=ON true
// if the environment variable WINNOW_DEFECT is that name. The filter library, which stands alone,
// has the same macro in filter/planted_defect.h.
#ifdef WINNOW_PLANTED_DEFECTS

#include <cstdlib>
#include <string_view>

#define WINNOW_DEFECT(name)                                                            \
  ([] {                                                                                \
    static const char* const planted = std::getenv("WINNOW_DEFECT");                   \
    static const bool here = planted != nullptr && std::string_view(planted) == #name; \
    return here;                                                                       \
  }())

#else

#define WINNOW_DEFECT(name) false

#endif

#endif  // WINNOW_ENGINE_BASE_PLANTED_DEFECT_H_
