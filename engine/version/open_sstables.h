// Opens the tables of a database that is being opened.
#ifndef WINNOW_ENGINE_VERSION_OPEN_SSTABLES_H_
#define WINNOW_ENGINE_VERSION_OPEN_SSTABLES_H_

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "engine/version/sstable_file.h"

namespace winnow {

struct SstableToOpen {
  FileMetadata metadata;
  const Comparator* comparator = nullptr;
  const FilterPolicy* filter_policy = nullptr;  // may be null
  // Out; never null after OK. A table that cannot be opened says so itself.
  std::shared_ptr<SstableFile> file;
};

// Many at once, on several threads, since opening one is mostly waiting for its index and filter to
// be read; on the caller's alone where no other can be started. ResourceExhausted: no memory, or no
// descriptor for one of them.
absl::Status OpenSstables(const std::shared_ptr<const SstableStore>& store,
                          std::span<SstableToOpen> tables);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_OPEN_SSTABLES_H_
