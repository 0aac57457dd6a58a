#include <cstdio>

#include "winnow/filter/builder.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/reader.h"

int main() {
  using namespace winnow::filter;
  auto builder = FilterBuilder::Create(*ParseFilterSpec("blocked_bloom:10"), 1);
  if (!builder.ok()) return 1;
  (*builder)->Add(HashKey("present", 1));
  const BuiltFilter built = (*builder)->Finish();
  const FilterReader reader = FilterReader::Open(built.block, nullptr);
  if (!reader.MayContain(HashKey("present", 1)) || reader.MayContain(HashKey("absent", 1)))
    return 1;
  std::puts("filtered");
}
