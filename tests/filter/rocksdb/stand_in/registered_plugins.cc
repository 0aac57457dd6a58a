// Calls the function of each plugin that was built in, and prints how many names it registered.

#include <cstdio>
#include <string>

#include "rocksdb/utilities/object_registry.h"

#define CALL(plugin, function) extern "C" int function(rocksdb::ObjectLibrary&, const std::string&);
#include "plugin_calls.inc"
#undef CALL

int main() {
  rocksdb::ObjectLibrary library;
#define CALL(plugin, function)     \
  std::printf("%s: %s\n", #plugin, \
              function(library, "") > 0 && library.num_factories > 0 ? "registered" : "nothing");
#include "plugin_calls.inc"
#undef CALL
}
