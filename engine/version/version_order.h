// The rule that every look-up relies on: of a key, what lies above is newer than what lies below.
#ifndef WINNOW_ENGINE_VERSION_VERSION_ORDER_H_
#define WINNOW_ENGINE_VERSION_VERSION_ORDER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "engine/version/version.h"

namespace winnow {

// Reads all entries of files that overlap others above or below them, and calls `report` for files
// that have something older than what a file below them has, or a range deletion that covers what
// is newer: `problem` names the key and the file below. Once for each file above. Files that cannot
// be read are passed over from there on; SstableReader::Verify says what is wrong with them.
void CheckVersionOrder(
    const Version& version, const SstableReadOptions& options,
    absl::FunctionRef<void(const SstableFile& file, const std::string& problem)> report);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_VERSION_ORDER_H_
