// Was a library compiled with assertions? Distributions ship such builds, and they are slower.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ASSERTIONS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ASSERTIONS_H_

#include <optional>
#include <string_view>

namespace winnow::bench {

// True if the loaded shared library whose file name starts with `name` ("librocksdb") calls
// __assert_fail, which assert() becomes without NDEBUG. Unset if no such library is loaded: then it
// was linked statically, and the build has looked (WINNOW_BENCH_*_ASSERTIONS).
std::optional<bool> LoadedWithAssertions(std::string_view name);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ASSERTIONS_H_
