#include <cstdio>

#include "winnow/db.h"

int main(int, char** arguments) {
  auto db = winnow::DB::Open(winnow::Options(), arguments[1]);
  if (!db.ok() || !(*db)->Put(winnow::WriteOptions(), "key", "stored value").ok()) return 1;
  std::string value;
  if (!(*db)->Get(winnow::ReadOptions(), "key", &value).ok()) return 1;
  std::puts(value.c_str());
  return (*db)->Close().ok() ? 0 : 1;
}
