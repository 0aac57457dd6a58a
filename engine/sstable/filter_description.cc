#include "engine/sstable/filter_description.h"

#include <cstddef>
#include <map>
#include <tuple>

#include "absl/status/statusor.h"
#include "filter/base/mutex.h"

namespace winnow {

// A spec has one '+' at most, in front of its range filter (filter/spec.cc).
std::string_view PointFilterText(std::string_view spec) { return spec.substr(0, spec.find('+')); }

std::string_view RangeFilterText(std::string_view spec) {
  const size_t plus = spec.find('+');
  return plus == std::string_view::npos ? std::string_view() : spec.substr(plus + 1);
}

namespace {

// All that Describe reads of the properties: tables of equal words share one description.
using Words = std::tuple<std::string, std::string, std::string, bool>;

std::shared_ptr<const FilterDescription> Describe(const SstableProperties& properties) {
  auto description = std::make_shared<FilterDescription>();
  description->spec = properties.filter_spec;
  description->key_text = properties.filter_key;
  description->policy = properties.filter_policy;
  description->in_units = !properties.filter_units.empty();
  const absl::StatusOr<filter::FilterKeyExtractor> key =
      filter::FilterKeyExtractor::Parse(properties.filter_key);
  if (key.ok()) {
    description->key = *key;
  } else {
    // A text of a newer version. The table is then read without its filter, and opens.
    description->key_error = std::string(key.status().message());
  }
  return description;
}

// Does not keep what it knows alive. What no table has any more is forgotten each time that twice
// as many have been met as were left the last time: that costs little, and few are kept in vain.
class KnownDescriptions {
 public:
  std::shared_ptr<const FilterDescription> Find(const SstableProperties& properties)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    Words words(properties.filter_spec, properties.filter_key, properties.filter_policy,
                !properties.filter_units.empty());
    // Held while a description is made, so that of tables which are opened at once none makes a
    // second one.
    MutexLock lock(&mutex_);
    if (const auto known = known_.find(words); known != known_.end()) {
      if (auto description = known->second.lock(); description != nullptr) return description;
    }
    if (known_.size() >= forget_at_) {
      std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
      forget_at_ = 2 * known_.size() + kFewest;
    }
    std::shared_ptr<const FilterDescription> description = Describe(properties);
    known_.insert_or_assign(std::move(words), description);
    return description;
  }

 private:
  static constexpr size_t kFewest = 16;

  Mutex mutex_;
  std::map<Words, std::weak_ptr<const FilterDescription>> known_ ABSL_GUARDED_BY(mutex_);
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = kFewest;
};

}  // namespace

std::shared_ptr<const FilterDescription> FilterDescription::Of(
    const SstableProperties& properties) {
  static auto& known = *new KnownDescriptions;  // never destroyed: tables may be opened until exit
  return known.Find(properties);
}

}  // namespace winnow
