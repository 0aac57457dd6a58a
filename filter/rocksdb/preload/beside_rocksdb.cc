// libwinnow_rocksdb_preload.so, for LD_PRELOAD: loads libwinnow_rocksdb.so from its own folder into
// programs that run on the shared RocksDB which that was built for, and does nothing to others.
//
// The plug-in itself is not to be preloaded: it needs librocksdb.so and so brings it into every
// program, also into those whose own copy of RocksDB then binds to half of it. This library needs
// the C library alone.

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

namespace {

// rocksdb::GetRocksVersionAsString(bool), which every RocksDB of today has.
constexpr const char* kProbe = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";

const char* BaseName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// A RocksDB that is linked into the program, or into a library of another name, is its own affair.
void TellOfAnotherRocksDb(const void* probe) {
  constexpr char kStem[] = "librocksdb.so";
  Dl_info found;
  if (dladdr(probe, &found) == 0 || found.dli_fname == nullptr ||
      strncmp(BaseName(found.dli_fname), kStem, strlen(kStem)) != 0) {
    return;
  }
  fprintf(stderr,
          "winnow: no winnow.* filter policy here: this program runs on %s, and %s was built for "
          "%s\n",
          found.dli_fname, WINNOW_PLUGIN_FILE, WINNOW_ROCKSDB_SONAME);
}

// The name of a shared RocksDB has its major and minor version, and with them the layout of its
// classes. Nothing is loaded to find out.
bool RunsOnOurRocksDb() {
  const void* const in_use = dlsym(RTLD_DEFAULT, kProbe);
  if (in_use == nullptr) return false;
  void* const ours = dlopen(WINNOW_ROCKSDB_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  if (ours == nullptr) {
    TellOfAnotherRocksDb(in_use);
    return false;
  }
  const bool is_used = dlsym(ours, kProbe) == in_use;
  dlclose(ours);
  return is_used;
}

__attribute__((constructor)) void LoadBesideRocksDb() {
  if (!RunsOnOurRocksDb()) return;
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&LoadBesideRocksDb), &self) == 0) return;
  const int folder_bytes = static_cast<int>(BaseName(self.dli_fname) - self.dli_fname);
  char path[PATH_MAX];
  const int bytes =
      snprintf(path, sizeof(path), "%.*s%s", folder_bytes, self.dli_fname, WINNOW_PLUGIN_FILE);
  if (bytes >= static_cast<int>(sizeof(path))) return;
  // Constructors of what it needs, RocksDB's among them, run first.
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    fprintf(stderr, "winnow: no winnow.* filter policy here: %s\n", dlerror());
  }
}

}  // namespace
