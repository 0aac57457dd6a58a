// Any bytes as a log file, in each recovery mode.

#include "engine/log/log_reader.h"
#include "engine/log/log_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "winnow/memory_file_system.h"

namespace {

constexpr char kPath[] = "/000012.log";
constexpr uint64_t kNumber = 12;

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const int records : {0, 1, 20}) {
    const auto files = NewMemoryFileSystem();
    auto writer = *LogWriter::Create(*files, kPath, kNumber, WritableFileOptions::Mode::kBuffered);
    for (int i = 0; i < records; i++) {
      Require(writer->Append(std::string(static_cast<size_t>(i * i), 'r')).ok(),
              "a log is written");
    }
    Require(writer->CloseCleanly().ok(), "a log is closed");
    seeds.push_back(*ReadFile(*files, kPath, 1 << 20));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using winnow::LogRecoveryMode;
  const auto files = winnow::NewMemoryFileSystem();
  {
    const auto file = *files->Create(kPath, {});
    winnow::fuzz::Require(
        file->Append({reinterpret_cast<const char*>(data), size}).ok() && file->Close().ok(),
        "the input is written");
  }
  for (const auto mode :
       {LogRecoveryMode::kStrict, LogRecoveryMode::kPointInTime, LogRecoveryMode::kSalvage}) {
    auto reader = winnow::LogReader::Open(*files, kPath, kNumber, mode);
    if (!reader.ok()) continue;
    uint64_t returned = 0;
    std::string_view payload;
    for (auto more = (*reader)->Read(&payload); more.ok() && *more;
         more = (*reader)->Read(&payload)) {
      returned += payload.size();
      winnow::fuzz::Require(returned <= size, "no more comes out than is in the file");
    }
  }
  return 0;
}
