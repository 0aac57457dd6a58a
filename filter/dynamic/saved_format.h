// The bytes of a serialised application filter, as FORMAT.md of this folder specifies them. This
// pair of files is the only one that knows offsets.

#ifndef WINNOW_FILTER_DYNAMIC_SAVED_FORMAT_H_
#define WINNOW_FILTER_DYNAMIC_SAVED_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/saved_filter.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kSavedHeaderBytes = 128;

// The fields of the header. What `parameter`, `option`, `num_slots` and the details mean depends on
// the kind; unused ones are 0.
struct SavedHeader {
  SavedFilterKind kind = SavedFilterKind::kBloom;
  uint8_t parameter = 0;
  uint8_t option = 0;
  uint32_t num_layers = 0;
  uint64_t hash_seed = 0;
  uint64_t capacity = 0;
  double fpr = 0;
  uint64_t num_slots = 0;
  uint64_t num_keys = 0;
  uint64_t detail[3] = {0, 0, 0};
};

struct SavedFilter {
  SavedHeader header;
  std::string_view payload;  // borrowed
};

// Writes the header, then whatever `payload` appended to it, then sets lengths and checksum.
class SavedFilterWriter {
 public:
  // `payload_bytes` is what will be appended.
  SavedFilterWriter(const SavedHeader& header, uint64_t payload_bytes);

  void AppendWord(uint64_t word);
  void Append(std::string_view bytes) { bytes_.append(bytes); }
  std::string Finish() &&;

 private:
  std::string bytes_;
};

// Checks magic, version, length, checksum and reserved bytes. DataLoss or Unimplemented as
// KindOfSavedFilter says.
absl::StatusOr<SavedFilter> ParseSavedFilter(std::string_view bytes);
// As well that it holds `kind`: InvalidArgument otherwise.
absl::StatusOr<SavedFilter> ParseSavedFilter(std::string_view bytes, SavedFilterKind kind);

// DataLoss: fields that contradict each other or leave their range.
absl::Status InconsistentFields(const SavedFilter& saved);

// The i-th little-endian 64-bit word of a payload.
uint64_t PayloadWord(std::string_view payload, uint64_t i);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_DYNAMIC_SAVED_FORMAT_H_
