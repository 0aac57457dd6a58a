// Makes Abseil's archives fit into a shared library where, as Debian's, they were compiled for
// programs: -fPIE. Two of their objects, sysinfo.cc.o and cordz_functions.cc.o, then hold
// thread-local variables at fixed offsets, which only a program can have, and the linker refuses
// them. The definitions here take their place. The linker checks all of it: where another Abseil
// needs more, CMakeLists.txt links its shared libraries instead.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "absl/base/config.h"
#include "absl/base/internal/sysinfo.h"
#include "absl/strings/internal/cordz_functions.h"

namespace absl {
ABSL_NAMESPACE_BEGIN

namespace base_internal {

// 1 is Abseil's own answer where the frequency is not known.
double NominalCPUFrequency() { return 1.0; }
int NumCPUs() { return static_cast<int>(std::thread::hardware_concurrency()); }
pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }
pid_t GetCachedTID() {
  thread_local const pid_t id = GetTID();
  return id;
}

}  // namespace base_internal

namespace cord_internal {

// Abseil samples cords for its profiler; nobody can ask this copy for them.
int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(int32_t /*mean_interval*/) {}

#ifdef ABSL_INTERNAL_CORDZ_ENABLED
constexpr int64_t kNever = INT64_MAX;
ABSL_CONST_INIT thread_local int64_t cordz_next_sample = kNever;
void cordz_set_next_sample_for_testing(int64_t /*next_sample*/) {}
bool cordz_should_profile_slow() {
  cordz_next_sample = kNever;
  return false;
}
#endif

}  // namespace cord_internal

ABSL_NAMESPACE_END
}  // namespace absl
