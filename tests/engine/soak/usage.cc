#include "tests/engine/soak/usage.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"

namespace winnow::soak {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

void AddWhatStays(const char* what, uint64_t before, uint64_t most, uint64_t after, uint64_t slack,
                  std::vector<std::string>* stays) {
  const uint64_t taken = std::max(most, before) - before;
  if (after <= before + taken / 3 + slack) return;
  stays->push_back(absl::StrCat(what, " does not come back: ", before, ", ", most, " under load, ",
                                after, " afterwards"));
}

}  // namespace

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<uint64_t>(
      std::distance(std::filesystem::begin(descriptors), std::filesystem::end(descriptors)));
}

uint64_t BytesIn(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const uintmax_t size = entry.file_size(error);  // a file may go at any time
    if (!error) bytes += size;
  }
  return bytes;
}

uint64_t HighestResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

void ForgetHighestResidentBytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

Usage MeasureUsage(const std::string& directory) {
  malloc_trim(0);
  return {ResidentBytes(), OpenDescriptors(), BytesIn(directory)};
}

Usage MostOf(const Usage& a, const Usage& b) {
  return {std::max(a.resident_bytes, b.resident_bytes), std::max(a.descriptors, b.descriptors),
          std::max(a.disk_bytes, b.disk_bytes)};
}

std::vector<std::string> WhatStays(const Usage& before, const Usage& most, const Usage& after) {
  std::vector<std::string> stays;
  if (!kSanitized) {
    AddWhatStays("memory", before.resident_bytes, most.resident_bytes, after.resident_bytes,
                 32 * kMiB, &stays);
  }
  AddWhatStays("descriptors", before.descriptors, most.descriptors, after.descriptors, 16, &stays);
  AddWhatStays("disk space", before.disk_bytes, most.disk_bytes, after.disk_bytes, 8 * kMiB,
               &stays);
  return stays;
}

Usage MeasureOnceReturned(const Usage& before, const Usage& most, const std::string& directory,
                          std::chrono::seconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const Usage after = MeasureUsage(directory);
    if (WhatStays(before, most, after).empty()) return after;
    if (std::chrono::steady_clock::now() >= give_up) return after;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace winnow::soak
