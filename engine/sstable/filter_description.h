// How the filters of tables were made, as their properties say it.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_DESCRIPTION_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_DESCRIPTION_H_

#include <memory>
#include <string>
#include <string_view>

#include "engine/sstable/sstable_properties.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

// "ribbon:1%" of "ribbon:1%+range:12", and "range:12" of it; empty: it has no such part.
std::string_view PointFilterText(std::string_view spec);
std::string_view RangeFilterText(std::string_view spec);

// Immutable. Nearly all tables of a process say the same, which is kept once for all that are open.
struct FilterDescription {
  // SstableProperties::filter_spec; with a filter file that of the file, and the table's own range
  // filter.
  std::string spec;
  std::string key_text;   // SstableProperties::filter_key
  std::string policy;     // SstableProperties::filter_policy
  bool in_units = false;  // written as units of which each can be in memory or not
  filter::FilterKeyExtractor key;
  std::string key_error;  // not empty: nothing is known of this text, and `key` is the whole key

  // Thread-safe.
  static std::shared_ptr<const FilterDescription> Of(const SstableProperties& properties);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_DESCRIPTION_H_
