#include "tools/winnow_bench/process.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

namespace winnow::bench {
namespace {

// The text after `label` on the first line of the file at `path` that starts with it.
std::string FieldOf(const char* path, std::string_view label) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(label)) continue;
    const size_t start = line.find_first_not_of(" \t:=\"", label.size());
    if (start == std::string::npos) return "";
    const size_t end = line.find_last_not_of(" \t\"");
    return line.substr(start, end - start + 1);
  }
  return "";
}

uint64_t NumberOf(const char* path, std::string_view label) {
  uint64_t number = 0;
  for (char c : FieldOf(path, label)) {
    if (c < '0' || c > '9') break;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

enum class FileKind { kData, kInfoLog };

uint64_t BytesOfFiles(FileKind kind, const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    constexpr uint64_t kStatBlockBytes = 512;
    const bool is_info_log = it->path().filename().string().starts_with("LOG");
    if (is_info_log != (kind == FileKind::kInfoLog)) continue;
    struct stat status {};
    if (lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    // A file may have more blocks than bytes: space that was reserved for it.
    bytes += std::min(static_cast<uint64_t>(status.st_size),
                      static_cast<uint64_t>(status.st_blocks) * kStatBlockBytes);
  }
  return bytes;
}

}  // namespace

InputOutput ReadInputOutput() {
  InputOutput io;
  io.bytes_read = NumberOf("/proc/self/io", "rchar:");
  io.bytes_written = NumberOf("/proc/self/io", "wchar:");
  io.read_calls = NumberOf("/proc/self/io", "syscr:");
  io.bytes_for_disk = NumberOf("/proc/self/io", "write_bytes:");
  return io;
}

uint64_t PeakMemoryBytes() {
  const uint64_t peak = NumberOf("/proc/self/status", "VmHWM:") * 1024;
  if (peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void ResetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

uint64_t DirectoryBytes(const std::string& path) { return BytesOfFiles(FileKind::kData, path); }

uint64_t InfoLogBytes(const std::string& path) { return BytesOfFiles(FileKind::kInfoLog, path); }

Machine DescribeMachine() {
  Machine machine;
  machine.cpu = FieldOf("/proc/cpuinfo", "model name");
  machine.num_cpus = static_cast<int>(std::thread::hardware_concurrency());
  machine.memory_bytes = NumberOf("/proc/meminfo", "MemTotal:") * 1024;
  utsname names{};
  if (uname(&names) == 0) machine.kernel = std::string(names.sysname) + " " + names.release;
  machine.distribution = FieldOf("/etc/os-release", "PRETTY_NAME");
#ifdef __clang__
  machine.compiler = __VERSION__;
#else
  machine.compiler = "g++ " __VERSION__;
#endif
  return machine;
}

}  // namespace winnow::bench
