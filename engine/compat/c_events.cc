// winnow/c.h: event listeners.
#include <string>

#include "engine/compat/c_handles.h"

using winnow::CallbackEventListener;
using winnow::NullIfOutOfMemory;
using winnow::UnlessOutOfMemory;

namespace winnow {

// Without memory for the text the event is told without it: which kind it is of may be enough.
void CallbackEventListener::OnEvent(const Event& event) {
  std::string text;
  UnlessOutOfMemory([&] { text = event.ToString(); });
  // A literal, so that it ends with a zero.
  on_event_(state_.get(), EventKindName(event.kind).data(), event.column_family.c_str(),
            text.c_str());
}

}  // namespace winnow

winnow_eventlistener_t* winnow_eventlistener_create(void* state, void (*destructor)(void*),
                                                    void (*on_event)(void*, const char*,
                                                                     const char*, const char*)) {
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_eventlistener_t>();
    handle->listener = std::make_shared<CallbackEventListener>(state, destructor, on_event);
    return handle.release();
  });
}

void winnow_eventlistener_destroy(winnow_eventlistener_t* listener) { delete listener; }

// The database has a share of its own from its opening on.
void winnow_options_add_event_listener(winnow_options_t* options,
                                       winnow_eventlistener_t* listener) {
  if (listener == nullptr) return;
  const bool had_memory =
      UnlessOutOfMemory([&] { options->options.listeners.push_back(listener->listener); });
  if (!had_memory) options->is_incomplete = true;
}
