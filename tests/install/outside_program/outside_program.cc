#include <cstdio>

#include "winnow/db.h"

int main(int, char** arguments) {
  auto db = winnow::DB::Open(winnow::Options(), arguments[1]);
  if (!db.ok() || !(*db)->Put(winnow::WriteOptions(), "key", "stored value").ok()) return 1;
  std::string value;
  if (!(*db)->Get(winnow::ReadOptions(), "key", &value).ok()) return 1;
  std::puts(value.c_str());
  // The text of a status is a string_view, whose functions are in a library of Abseil's.
  const absl::Status refused = winnow::DB::Open(winnow::Options(), "").status();
  if (refused.message().find("empty") == absl::string_view::npos) return 1;
  if (refused.message().substr(0, 1).empty()) return 1;
  return (*db)->Close().ok() ? 0 : 1;
}
