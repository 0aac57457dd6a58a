// Which part of the unsynced work a crash leaves on disk.
//
// Crashes follow POSIX without mercy. A file's bytes are durable after Sync of the file only. Its
// directory entry is durable after SyncDirectory of its parent only, and that of the parent after
// SyncDirectory of the grandparent. What has not been synced may survive in any combination, in
// any order, with the one exception that a rename is atomic.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_TESTING_CRASH_CHOICE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_TESTING_CRASH_CHOICE_H_

#include <cstdint>
#include <string>

namespace winnow {

// What was synced is always kept.
struct CrashChoice {
  enum class Kind {
    kKeepNothingUnsynced,
    // The process is killed, the operating system lives: everything handed to it is kept. Appends
    // to a kBuffered file since its last Flush are lost; an unclosed kLog file ends in zeros.
    kKeepAll,
    // Everything is kept but the last append, of which only a part arrived.
    kTornLastAppend,
    // Each 512-byte or 4-KiB piece of unsynced data, each growth of a file's length and each
    // change of a directory is kept or lost by itself. Lost pieces below the length read as zeros
    // or as garbage.
    kRandomSubset,
  };

  static CrashChoice KeepNothingUnsynced() { return {Kind::kKeepNothingUnsynced, 0, 0}; }
  static CrashChoice KeepAll() { return {Kind::kKeepAll, 0, 0}; }
  // `fraction` in [0, 1]: the part of the last append's bytes that is kept.
  static CrashChoice TornLastAppend(double fraction) {
    return {Kind::kTornLastAppend, fraction, 0};
  }
  // The same seed on the same operations gives the same state.
  static CrashChoice RandomSubset(uint64_t seed) { return {Kind::kRandomSubset, 0, seed}; }

  // "keep nothing unsynced", "keep a random subset, seed 7", ...
  std::string ToString() const;

  Kind kind = Kind::kKeepNothingUnsynced;
  double torn_fraction = 0;
  uint64_t seed = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_TESTING_CRASH_CHOICE_H_
