// The program in README.md, "In front of a cache".

#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

using Rows = std::map<std::string, std::string, std::less<>>;

absl::StatusOr<std::string> Read(const Rows& rows, std::string_view key) {
  const auto found = rows.find(key);
  if (found == rows.end()) return absl::NotFoundError("no row");
  return found->second;
}

TEST(ReadmeGuardTest, Runs) {
  Rows database;
  // clang-format off
  // BEGIN
auto cache = winnow::guard::NewMemoryCache();
auto filter = winnow::guard::NewBloomKeyFilter(1'000'000, 0.01);
winnow::guard::GuardOptions options;
options.filter = filter->get();                       // absent keys: 99 of 100 go no further
options.serve_stale_for = std::chrono::seconds(30);   // expired: served, and refreshed later
options.keep_stale_for = std::chrono::hours(1);       // the database is down: served all the same
auto guard = winnow::guard::CacheGuard::Create(cache.get(), options);
{
  auto intent = (*guard)->BeginInsert("user:17");     // before the row is visible
  database["user:17"] = "Ada";
  if (!(*guard)->Put("user:17", "Ada").ok()) return;  // after it is
}
auto name = (*guard)->Get("user:17", [&](std::string_view key) { return Read(database, key); });
std::cout << (*guard)->statistics().ToTable();
  // END
  // clang-format on
  EXPECT_EQ(name.value(), "Ada");
}

std::string TextOf(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(ReadmeGuardTest, IsTheSameThere) {
  const std::string source = TextOf(__FILE__);
  const size_t begin = source.find("  // BEGIN\n") + 11;
  const std::string program = source.substr(begin, source.find("  // END\n") - begin);
  ASSERT_GT(program.size(), 500u);
  EXPECT_NE(TextOf(WINNOW_SOURCE_DIR "/README.md").find("```c++\n" + program + "```"),
            std::string::npos);
}

}  // namespace
}  // namespace winnow::guard
