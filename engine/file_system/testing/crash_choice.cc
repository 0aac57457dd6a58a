#include "engine/file_system/testing/crash_choice.h"

#include "engine/base/status.h"

namespace winnow {

// Everything that a failing test must print for its state to be made again.
std::string CrashChoice::ToString() const {
  switch (kind) {
    case Kind::kKeepNothingUnsynced:
      return "keep nothing unsynced";
    case Kind::kKeepAll:
      return "keep all";
    case Kind::kTornLastAppend:
      return absl::StrCat("keep ", torn_fraction, " of the last append");
    case Kind::kRandomSubset:
      return absl::StrCat("keep a random subset, seed ", seed);
  }
  return "unknown choice";
}

}  // namespace winnow
