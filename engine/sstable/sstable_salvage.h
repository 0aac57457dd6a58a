// Reads what can still be read of a damaged table.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_SALVAGE_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_SALVAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// One walk over the blocks of a table whose footer, properties and top index are sound: past each
// damaged block to the next.
class SstableSalvage {
 public:
  // Called with internal keys in strictly ascending order.
  using Take = absl::FunctionRef<absl::Status(std::string_view key, std::string_view value)>;

  explicit SstableSalvage(const SstableReader& table) : table_(table) {}

  // Stops only at an error of `take`.
  absl::Status Run(Take take);
  // What was passed over.
  const std::vector<SstableProblem>& problems() const { return problems_; }

 private:
  void PassOver(const BlockHandle& handle, const absl::Status& status);
  absl::Status ReadIndex(const IndexBlock& index, Take take);
  absl::Status ReadBlock(const BlockHandle& handle, Take take);

  const SstableReader& table_;
  std::vector<SstableProblem> problems_;
  std::string last_key_;
  bool any_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_SALVAGE_H_
