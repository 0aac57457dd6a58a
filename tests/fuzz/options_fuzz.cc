// Any text as option settings, "name=value" a line.

#include "tests/fuzz/fuzz_target.h"
#include "winnow/options.h"

std::vector<std::string> winnow::fuzz::Seeds() {
  std::string all;
  for (const std::string_view name : OptionNames()) all += std::string(name) + "=1\n";
  return {all, "filter=cuckoo:1%\nwrite_buffer_bytes=64M\nblock_cache_bytes=1.5G\n",
          "compression_per_level=none,lz4,zstd\nfilter_key=whole+prefix:8\nread_only=true\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  winnow::Options options;
  // An unknown name is compared with each known one: more lines take longer and show no more.
  constexpr int kMaxLines = 100;
  for (int lines = 0; lines < kMaxLines && !text.empty(); lines++) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const absl::Status status =
        winnow::SetOption(&options, line.substr(0, equals), line.substr(equals + 1));
    winnow::fuzz::Require(status.ok() || !status.message().empty(), "a refusal has a reason");
  }
  return 0;
}
