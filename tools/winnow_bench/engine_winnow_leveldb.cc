// Winnow through LevelDB's C++ interface: what programs get that are compiled with it in LevelDB's
// place. It is in a module, since its names are LevelDB's.
#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/engine_factory.h"
#include "tools/winnow_bench/leveldb_face.h"

namespace winnow::bench {
namespace {

// Beside the program in the build; an installed winnow_bench has none.
std::filesystem::path ModulePath() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / WINNOW_BENCH_LEVELDB_FACE_FILE;
}

absl::StatusOr<const EngineFactory*> Face() {
  // Loaded only when it is asked for: other engines' memory is measured without it.
  static void* const module = dlopen(ModulePath().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = module == nullptr ? nullptr : dlsym(module, kLevelDbFaceSymbol);
  if (symbol == nullptr) {
    return absl::NotFoundError(absl::StrCat("winnow_leveldb: cannot load ", ModulePath().string()));
  }
  return reinterpret_cast<decltype(&WinnowBenchLevelDbFace)>(symbol)();
}

std::string Title() {
  return absl::StrCat("winnow_leveldb ", WINNOW_BENCH_WINNOW_VERSION,
                      " (Winnow through LevelDB's C++ interface)");
}

absl::Status Destroy(const std::string& directory) {
  const absl::StatusOr<const EngineFactory*> face = Face();
  return face.ok() ? (*face)->destroy(directory) : face.status();
}

absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineSettings& settings) {
  const absl::StatusOr<const EngineFactory*> face = Face();
  if (!face.ok()) return face.status();
  return (*face)->open(settings);
}

}  // namespace

const EngineFactory kWinnowLevelDbFactory = {"winnow_leveldb", WritePath::kLog, Title, Destroy,
                                             Open};

bool HasLevelDbFace() {
  std::error_code error;
  return std::filesystem::exists(ModulePath(), error);
}

}  // namespace winnow::bench
