#include "tools/winnow_bench/pe/main.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/pe/options.h"
#include "tools/winnow_bench/pe/report.h"
#include "tools/winnow_bench/pe/run.h"

namespace winnow::bench::pe {
namespace {

constexpr int kPeFailed = 1;
constexpr int kPeUsage = 2;

int Complain(const absl::Status& status, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "winnow_bench: pe: %s\n", std::string(status.message()).c_str());
  return code;
}

std::string DefaultDirectory() {
  const char* const temporary = std::getenv("TMPDIR");
  const bool is_set = temporary != nullptr && temporary[0] != '\0';
  return absl::StrCat(is_set ? temporary : "/tmp", "/winnow_bench-pe-", getuid());
}

}  // namespace

int PeMain(std::span<const std::string> words) {
  absl::StatusOr<PeOptions> options = ParsePeOptions(words);
  if (!options.ok()) return Complain(options.status(), kPeUsage);
  if (options->help) {
    std::printf("%s", PeHelp().c_str());
    return 0;
  }
  if (options->directory.empty()) options->directory = DefaultDirectory();
  std::vector<PeResult> results;
  absl::Status status;
  for (const std::string& engine : options->engines) {
    absl::StatusOr<std::vector<PeResult>> run = RunPe(*options, engine);
    if (!run.ok()) {
      status =
          absl::Status(run.status().code(), absl::StrCat(engine, ": ", run.status().message()));
      break;
    }
    for (PeResult& result : *run) results.push_back(std::move(result));
  }
  std::printf("%s", PeTable(*options, results).c_str());
  const absl::Status written = WritePeJson(*options, results);
  if (!status.ok()) return Complain(status, kPeFailed);
  if (!written.ok()) return Complain(written, kPeFailed);
  return 0;
}

}  // namespace winnow::bench::pe
