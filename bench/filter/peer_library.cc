#include "bench/filter/peer_library.h"

#include <dlfcn.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace winnow::bench {
namespace {

constexpr const char* kSymbol = "winnow_peer_library";

bool IsComplete(const WinnowPeerKind& kind) {
  return kind.name != nullptr && *kind.name != '\0' && kind.build != nullptr &&
         kind.num_bytes != nullptr && kind.may_contain != nullptr && kind.release != nullptr;
}

}  // namespace

absl::StatusOr<std::span<const WinnowPeerKind>> LoadPeerLibrary(const std::string& path) {
  // A name without a slash would be looked for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat("cannot load the peer library: ", ::dlerror()));
  }
  auto* const get_library =
      reinterpret_cast<decltype(&winnow_peer_library)>(::dlsym(handle, kSymbol));
  const auto refuse = [&](std::string_view reason) {
    ::dlclose(handle);
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(reason)));
  };
  if (get_library == nullptr) {
    return refuse(absl::StrCat("not a peer library: it has no function ", kSymbol,
                               " (see bench/filter/peer_filter.h)"));
  }
  const WinnowPeerLibrary* const library = get_library();
  if (library == nullptr) return refuse(absl::StrCat(kSymbol, " returned null"));
  if (library->version != WINNOW_PEER_VERSION) {
    return refuse(absl::StrCat("peer library of version ", library->version,
                               ", this program knows version ", WINNOW_PEER_VERSION));
  }
  if (library->num_kinds == 0 || library->kinds == nullptr) {
    return refuse("peer library without filters");
  }
  const std::span<const WinnowPeerKind> kinds(library->kinds, library->num_kinds);
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!IsComplete(kinds[i])) {
      return refuse(
          absl::StrCat("filter ", i, " of the peer library lacks its name or a function"));
    }
  }
  return kinds;
}

}  // namespace winnow::bench
