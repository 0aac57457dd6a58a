// How the read path fills a PinnedValue.
#ifndef WINNOW_ENGINE_DB_PINNED_VALUE_ACCESS_H_
#define WINNOW_ENGINE_DB_PINNED_VALUE_ACCESS_H_

#include <cstring>
#include <string_view>
#include <utility>

#include "engine/cache/block_cache.h"
#include "winnow/pinned_value.h"

namespace winnow {

class PinnedValueAccess {
 public:
  static void Copy(PinnedValue* value, std::string_view bytes) {
    value->Reset();
    value->copy_.assign(bytes);
    value->view_ = value->copy_;
  }

  // Takes over the reference that keeps `bytes` alive.
  static void Pin(PinnedValue* value, std::string_view bytes, BlockRef block) {
    value->Reset();
    value->view_ = bytes;
    const BlockRef::Parts parts = std::move(block).Detach();
    static_assert(sizeof(parts) <= sizeof(value->pin_));
    std::memcpy(&value->pin_, &parts, sizeof(parts));
    value->release_ = [](const PinnedValue::Pin& pin) {
      BlockRef::Parts held;
      std::memcpy(&held, &pin, sizeof(held));
      BlockRef::Attach(held).Release();
    };
  }
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_PINNED_VALUE_ACCESS_H_
