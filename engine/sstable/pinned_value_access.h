// How the read path fills a PinnedValue.
#ifndef WINNOW_ENGINE_SSTABLE_PINNED_VALUE_ACCESS_H_
#define WINNOW_ENGINE_SSTABLE_PINNED_VALUE_ACCESS_H_

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "engine/cache/block_cache.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/pinned_value.h"

namespace winnow {

class PinnedValueAccess {
 public:
  static void Copy(PinnedValue* value, std::string_view bytes) {
    value->Reset();
    value->copy_.assign(bytes);
    value->view_ = value->copy_;
  }

  static void Take(PinnedValue* value, std::string&& bytes) {
    value->Reset();
    value->copy_ = std::move(bytes);
    value->view_ = value->copy_;
  }

  // What was found, and what keeps it alive.
  static void PinResult(PinnedValue* value, PointResult* result) {
    if (result->mapped == nullptr) [[likely]] {
      Pin(value, result->value, std::move(result->pin));
    } else {
      PinMapped(value, result->value, result->mapped);
    }
  }

 private:
  static constexpr size_t kLeastPinnedBytes = 1024;

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

  // The same for bytes of a mapped file. Small ones are copied: that costs less than the line that
  // all who hold the file write to.
  static void PinMapped(PinnedValue* value, std::string_view bytes, MappedBlocks* mapped) {
    if (bytes.size() < kLeastPinnedBytes) return Copy(value, bytes);
    value->Reset();
    value->view_ = bytes;
    mapped->Hold();
    value->pin_.words[0] = mapped;
    value->release_ = [](const PinnedValue::Pin& pin) {
      static_cast<MappedBlocks*>(pin.words[0])->LetGo();
    };
  }
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_PINNED_VALUE_ACCESS_H_
