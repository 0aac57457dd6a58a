// How new the entries are of tables that an opening in mode salvage leaves out.
#ifndef WINNOW_ENGINE_RECOVERY_ORPHANED_SEQUENCES_H_
#define WINNOW_ENGINE_RECOVERY_ORPHANED_SEQUENCES_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "winnow/file_system.h"

namespace winnow {

// The largest sequence number in tables of `directory` that are not `live`, those among them that
// were made orphans before; 0 if there are none. A repair takes such tables back and goes by these
// numbers: what is written from now on must have greater ones. What cannot be read counts for
// nothing. Errors: of the listing, and lack of memory or descriptors.
absl::StatusOr<SequenceNumber> LargestOrphanedSequence(FileSystem& file_system,
                                                       const std::string& directory,
                                                       const std::set<uint64_t>& live);

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_ORPHANED_SEQUENCES_H_
