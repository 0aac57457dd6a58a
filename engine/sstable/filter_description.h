// How the filters of tables were made, as their properties say it.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_DESCRIPTION_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_DESCRIPTION_H_

#include <memory>
#include <string>

#include "engine/sstable/sstable_properties.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

// Immutable. Nearly all tables of a process say the same, which is kept once for all that are open.
struct FilterDescription {
  std::string spec;       // SstableProperties::filter_spec
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
