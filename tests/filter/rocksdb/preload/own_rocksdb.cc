// A program with a RocksDB of its own inside, as far as a loader can see: it exports the function
// that Winnow looks for, and prints what is loaded into it.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

namespace rocksdb {

__attribute__((visibility("default"))) std::string GetRocksVersionAsString(bool /*with_patch*/) {
  return "its own";
}

}  // namespace rocksdb

int main() {
  std::cout << rocksdb::GetRocksVersionAsString(true) << '\n'
            << std::ifstream("/proc/self/maps").rdbuf();
  return 0;
}
