// Which families those who write may find.
#include "engine/column_family/column_family_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace winnow {
namespace {

std::unique_ptr<ColumnFamilyState> Family(uint32_t id) {
  FamilyRecord record;
  record.id = id;
  record.name = id == 0 ? "default" : "family " + std::to_string(id);
  record.comparator = BytewiseComparator();
  return std::make_unique<ColumnFamilyState>(record, ColumnFamilyOptions(), /*hash_seed=*/1);
}

TEST(ColumnFamilySet, FindsWhatIsThereAndNotWhatWasDropped) {
  ColumnFamilySet families;
  EXPECT_EQ(families.default_family(), nullptr);
  ColumnFamilyState* const zero = families.Add(Family(0));
  ColumnFamilyState* const five = families.Add(Family(5));
  EXPECT_EQ(families.default_family(), zero);
  EXPECT_EQ(families.FindForWrite(0), zero);
  EXPECT_EQ(families.FindForWrite(5), five);
  EXPECT_EQ(families.FindForWrite(4), nullptr);
  five->dropped.store(true);
  EXPECT_EQ(families.FindForWrite(5), nullptr);
  EXPECT_EQ(families.all().size(), 2u) << "handles of dropped families stay valid";
}

TEST(ColumnFamilySet, JobsLookAtThoseThatAreThereAndThoseThatAreLeaving) {
  ColumnFamilySet families;
  families.Add(Family(0));
  ColumnFamilyState* const five = families.Add(Family(5));
  families.Add(Family(6));
  five->SwitchMemtable();
  five->dropped.store(true);
  five->PrepareRelease(five->immutables.size());
  EXPECT_EQ(families.live().size(), 3u) << "its drop may fail";
  five->InstallNothing();
  families.NoteDropped(*five);
  EXPECT_EQ(families.live().size(), 2u);
  EXPECT_FALSE(families.live().contains(5));
  EXPECT_EQ(families.leaving().at(5), five);
  EXPECT_FALSE(five->has_let_go()) << "its former view";
  five->views.Reclaim();
  EXPECT_TRUE(five->has_let_go());
  families.NoteLeft(*five);
  EXPECT_TRUE(families.leaving().empty());
  EXPECT_EQ(families.all().size(), 3u);
}

TEST(ColumnFamilySet, ASwitchedMemtableIsFoundByWritersAndReadersAtOnce) {
  ColumnFamilySet families;
  ColumnFamilyState* const family = families.Add(Family(0));
  family->SwitchMemtable();
  Memtable* const first = family->active_for_insert();
  EXPECT_EQ(first, &family->active());
  EXPECT_TRUE(family->active().empty());
  first->Add(1, EntryType::kPut, "key", "value");
  EXPECT_FALSE(family->active().empty());
  family->SwitchMemtable();
  EXPECT_NE(family->active_for_insert(), first);
  ASSERT_EQ(family->immutables.size(), 1u);
  EXPECT_EQ(family->immutables[0].get(), first);
  const auto view = family->views.Shared();
  EXPECT_EQ(view->active.get(), family->active_for_insert());
  ASSERT_EQ(view->immutables.size(), 1u);
  EXPECT_EQ(view->immutables[0].get(), first);
}

}  // namespace
}  // namespace winnow
