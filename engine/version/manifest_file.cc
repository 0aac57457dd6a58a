#include "engine/version/manifest_file.h"

#include <memory>

#include "engine/base/status.h"
#include "engine/log/log_writer.h"
#include "engine/version/file_names.h"

namespace winnow {

absl::Status WriteManifest(FileSystem& file_system, const std::string& directory, uint64_t number,
                           const VersionEdit& state) {
  // One record, as the first of every manifest: a state that is read whole or not at all.
  std::string record;
  state.EncodeTo(&record);
  WINNOW_ASSIGN_OR_RETURN(const auto manifest,
                          LogWriter::Create(file_system, ManifestFileName(directory, number),
                                            {number, state.hash_seed.value_or(0)},
                                            WritableFileOptions::Mode::kBuffered));
  WINNOW_RETURN_IF_ERROR(manifest->Append(record));
  WINNOW_RETURN_IF_ERROR(manifest->Sync());
  // Not closed cleanly: that would say that the logs end with their markers.
  WINNOW_RETURN_IF_ERROR(manifest->Close());
  return file_system.SyncDirectory(directory);
}

}  // namespace winnow
