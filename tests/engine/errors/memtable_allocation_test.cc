// A memtable's index whose memory is refused now and then: an insertion that fails changes nothing.
#include <gtest/gtest.h>

#include <new>
#include <random>
#include <set>
#include <string>

#include "engine/memtable/b_tree.h"
#include "tests/support/allocation_hook.h"

namespace winnow {
namespace {

bool InsertOrFail(BTree* tree, const std::string& key) {
  AllocationsOfThisThread fail(/*may_fail=*/true);
  try {
    tree->Insert(key, PackTrailer(1, EntryType::kPut), key, [] {});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// The smallest chunks, so that entries, leaves and the pages above them all meet failures, at every
// height of the tree.
TEST(MemtableAllocation, AnInsertionWithoutMemoryChangesNothing) {
  AllocationsOfThisThread spare(/*may_fail=*/false);
  const InternalKeyComparator comparator(BytewiseComparator());
  Arena arena(1);
  BTree tree(comparator, &arena);
  std::set<std::string> inserted;
  std::mt19937_64 random(1);
  int failures = 0;
  FailAllocationsByChance({}, 2);
  for (int i = 0; i < 20000; i++) {
    const std::string key = "shared-prefix-" + std::to_string(random());
    if (InsertOrFail(&tree, key)) {
      inserted.insert(key);
    } else {
      failures++;
    }
  }
  uint64_t failed = 0;
  StopCountingAllocations(&failed);
  EXPECT_GT(failures, 100);
  const BTree::Entry* entry = tree.First();
  for (const std::string& key : inserted) {
    ASSERT_NE(entry, nullptr);
    ASSERT_EQ(entry->value(), key);
    ASSERT_EQ(tree.FindGreaterOrEqual(key, UINT64_MAX), entry);
    entry = BTree::Next(entry);
  }
  EXPECT_EQ(entry, nullptr);
}

}  // namespace
}  // namespace winnow
