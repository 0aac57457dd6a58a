// Any bytes as CURRENT, the file that names the manifest.

#include "engine/version/current_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "winnow/memory_file_system.h"

namespace {

constexpr char kDirectory[] = "/db";
constexpr char kPath[] = "/db/CURRENT";

std::string TextFor(uint64_t manifest_number) {
  const auto files = winnow::NewMemoryFileSystem();
  const absl::Status made = files->CreateDirectories(kDirectory);
  const absl::Status written = winnow::WriteCurrentFile(*files, kDirectory, manifest_number);
  winnow::fuzz::Require(made.ok() && written.ok(), "CURRENT is written");
  return *winnow::ReadFile(*files, kPath, 1 << 10);
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {TextFor(1),          TextFor(999999),
          TextFor(UINT64_MAX), "MANIFEST-000005\n",
          "MANIFEST-000005 ",  "MANIFEST-99999999999999999999 0000000000000000\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = winnow::NewMemoryFileSystem();
  winnow::fuzz::Require(files->CreateDirectories(kDirectory).ok() &&
                            winnow::WriteFileAtomically(*files, kPath, text).ok(),
                        "the input is written");
  const auto number = winnow::ReadCurrentFile(*files, kDirectory);
  if (number.ok()) {
    winnow::fuzz::Require(TextFor(*number) == text, "only what is written is accepted");
  } else {
    winnow::fuzz::Require(number.status().message().find(kPath) != std::string::npos,
                          "a refusal names the file");
  }
  return 0;
}
