// Which tables a read may pass over by the times of their keys.
#include "engine/base/key_times.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace winnow {
namespace {

KeyTimes Of(std::initializer_list<std::pair<TimedKeyKind, uint64_t>> keys) {
  KeyTimes times;
  for (const auto& [kind, time] : keys) times.Add({kind, time});
  return times;
}

TEST(KeyTimes, AreThoseOfAllKeys) {
  const KeyTimes none;
  EXPECT_TRUE(none.IsPossible());
  EXPECT_EQ(none.DebugString(), "none");
  const KeyTimes times = Of({{TimedKeyKind::kEntry, 7},
                             {TimedKeyKind::kEntry, 0},
                             {TimedKeyKind::kMarker, 9},
                             {TimedKeyKind::kMarker, 8},
                             {TimedKeyKind::kFarMarker, 3}});
  EXPECT_EQ(times.oldest, 0u);
  EXPECT_EQ(times.end, 8u);
  EXPECT_EQ(times.marker_end, 10u);
  EXPECT_EQ(times.far_marker_end, 4u);
  EXPECT_TRUE(times.IsPossible());
  EXPECT_EQ(times.DebugString(), "entries=0..7 markers=..9 far_markers=..3");
  EXPECT_FALSE((KeyTimes{.oldest = 8, .end = 8}).IsPossible());
  EXPECT_FALSE((KeyTimes{.oldest = 8}).IsPossible());
}

TEST(KeyTimes, WhatIsOlderIsExcludedAndWhatMayHideIsNot) {
  const KeyTimeBounds from_10{.begin = 10, .end = 20};
  EXPECT_TRUE(from_10.Exclude(Of({{TimedKeyKind::kEntry, 9}})));
  EXPECT_FALSE(from_10.Exclude(Of({{TimedKeyKind::kEntry, 10}})));
  EXPECT_TRUE(from_10.Exclude(Of({{TimedKeyKind::kMarker, 9}, {TimedKeyKind::kFarMarker, 9}})));
  EXPECT_FALSE(from_10.Exclude(Of({{TimedKeyKind::kEntry, 2}, {TimedKeyKind::kMarker, 10}})));
  EXPECT_FALSE(from_10.Exclude(Of({{TimedKeyKind::kEntry, 2}, {TimedKeyKind::kFarMarker, 50}})));
}

TEST(KeyTimes, WhatIsNewerIsExcludedOnlyWhereItPlaysNoPart) {
  const KeyTimes newer = Of({{TimedKeyKind::kEntry, 20}, {TimedKeyKind::kEntry, 30}});
  const KeyTimeBounds counts{.begin = 10, .end = 20};
  const KeyTimeBounds ignores{.begin = 10, .end = 20, .ignores_later = true};
  EXPECT_FALSE(counts.Exclude(newer));
  EXPECT_TRUE(ignores.Exclude(newer));
  EXPECT_FALSE(ignores.Exclude(Of({{TimedKeyKind::kEntry, 19}, {TimedKeyKind::kEntry, 30}})));
  // It reaches back to the beginning.
  EXPECT_FALSE(ignores.Exclude(Of({{TimedKeyKind::kEntry, 30}, {TimedKeyKind::kMarker, 30}})));
  EXPECT_FALSE(ignores.Exclude(Of({{TimedKeyKind::kEntry, 30}, {TimedKeyKind::kFarMarker, 30}})));
}

TEST(KeyTimes, FarMarkersAreLookedForByThemselves) {
  const KeyTimeBounds markers{.begin = 10, .is_of_far_markers = true};
  EXPECT_TRUE(markers.Exclude(Of({{TimedKeyKind::kEntry, 15}, {TimedKeyKind::kMarker, 15}})));
  EXPECT_TRUE(markers.Exclude(Of({{TimedKeyKind::kFarMarker, 9}})));
  EXPECT_FALSE(markers.Exclude(Of({{TimedKeyKind::kFarMarker, 10}})));
}

}  // namespace
}  // namespace winnow
