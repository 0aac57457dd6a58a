#include "tools/winnow_bench/assertions.h"

#include <elf.h>
#include <link.h>

namespace winnow::bench {
namespace {

struct Search {
  std::string_view library;
  std::optional<bool> with_assertions;
};

// The strings of the object's dynamic symbol table, where the names of imported functions are. The
// loader gives addresses as integers.
// NOLINTBEGIN(performance-no-int-to-ptr)
std::string_view DynamicStrings(const dl_phdr_info& object) {
  const char* strings = nullptr;
  size_t bytes = 0;
  for (size_t i = 0; i < object.dlpi_phnum; i++) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRSZ) bytes = entry->d_un.d_val;
    }
  }
  return strings == nullptr ? std::string_view() : std::string_view(strings, bytes);
}
// NOLINTEND(performance-no-int-to-ptr)

int LookAt(dl_phdr_info* object, size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const std::string_view path = object->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with(search.library)) return 0;
  constexpr std::string_view kImport("\0__assert_fail\0", 15);
  search.with_assertions = DynamicStrings(*object).find(kImport) != std::string_view::npos;
  return 1;
}

}  // namespace

std::optional<bool> LoadedWithAssertions(std::string_view name) {
  Search search{name, std::nullopt};
  dl_iterate_phdr(LookAt, &search);
  return search.with_assertions;
}

}  // namespace winnow::bench
