// winnow/c.h: compaction filters and clocks whose work C functions do.
#include <cstdlib>

#include "engine/compat/c_handles.h"

using winnow::CallbackClock;
using winnow::CallbackCompactionFilter;
using winnow::NullIfOutOfMemory;

namespace winnow {

// Called by background threads, of which several may compact at once: the callback guards its own
// state.
CompactionFilter::Decision CallbackCompactionFilter::Filter(const Entry& entry,
                                                            std::string* new_value) const {
  char* bytes = nullptr;
  size_t length = 0;
  const int decision =
      filter_(state_.get(), entry.column_family.data(), entry.column_family.size(), entry.level,
              entry.is_last_level ? 1 : 0, entry.key.data(), entry.key.size(), entry.value.data(),
              entry.value.size(), &bytes, &length);
  // The callback's malloc, given back with the free of the same C library, also if there is no
  // memory for the copy.
  const std::unique_ptr<char, decltype(&std::free)> owned(bytes, &std::free);
  switch (decision) {
    case winnow_compaction_remove:
      return Decision::kRemove;
    // Null is an empty value: `*new_value` is empty when the filter is called.
    case winnow_compaction_change:
      if (bytes != nullptr) new_value->assign(bytes, length);
      return Decision::kChangeValue;
    default:
      return Decision::kKeep;  // the safe side
  }
}

}  // namespace winnow

winnow_compactionfilter_t* winnow_compactionfilter_create(void* state, void (*destructor)(void*),
                                                          int (*filter)(void*, const char*, size_t,
                                                                        int, uint8_t, const char*,
                                                                        size_t, const char*, size_t,
                                                                        char**, size_t*)) {
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_compactionfilter_t>();
    handle->filter = std::make_shared<const CallbackCompactionFilter>(state, destructor, filter);
    return handle.release();
  });
}

void winnow_compactionfilter_destroy(winnow_compactionfilter_t* filter) { delete filter; }

// Takes a share, here and below: the handle may be given back before a database is opened.
void winnow_options_set_compaction_filter(winnow_options_t* options,
                                          winnow_compactionfilter_t* filter) {
  options->compaction_filter = filter == nullptr ? nullptr : filter->filter;
}

winnow_clock_t* winnow_clock_create(void* state, void (*destructor)(void*),
                                    uint64_t (*now_micros)(void*)) {
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_clock_t>();
    handle->clock = std::make_shared<const CallbackClock>(state, destructor, now_micros);
    return handle.release();
  });
}

void winnow_clock_destroy(winnow_clock_t* clock) { delete clock; }

void winnow_options_set_clock(winnow_options_t* options, winnow_clock_t* clock) {
  options->clock = clock == nullptr ? nullptr : clock->clock;
}
