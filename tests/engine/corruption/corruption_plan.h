// Which damage is done to the files of a small database: everything that can be enumerated, then
// random damage from a seed.
#ifndef WINNOW_TESTS_ENGINE_CORRUPTION_CORRUPTION_PLAN_H_
#define WINNOW_TESTS_ENGINE_CORRUPTION_CORRUPTION_PLAN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/sstable/format.h"
#include "tests/support/damage_database.h"

namespace winnow {

// A stretch of a file that is something by itself.
struct FilePart {
  std::string name;  // "SSTable data block", "filter file", "manifest", "CURRENT"
  uint64_t begin = 0;
  uint64_t end = 0;
};
using FileParts = std::map<std::string, std::vector<FilePart>>;  // file -> its parts, ascending

// The blocks of SSTables and filter files, the records of logs and manifests. Files of no meaning,
// LOCK for example, have none.
FileParts PartsOf(const Files& files);

// One change to one file.
struct Corruption {
  enum class Kind {
    kFlip,       // bit `value` of the byte at `begin`
    kTruncate,   // to `begin` bytes
    kZero,       // [begin, end)
    kSwap,       // [begin, end) and as many bytes at `source_offset`, as far as they do not overlap
    kCopy,       // bytes from `source_file` at `source_offset` over [begin, end)
    kReplace,    // the whole file by `source_file`
    kRandomize,  // [begin, end) by bytes from the seed `value`
    kErase,      // [begin, end)
    kInsert,     // end - begin bytes from the seed `value` at `begin`
  };

  Kind kind = Kind::kFlip;
  std::string file;
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string source_file = "";
  uint64_t source_offset = 0;
  uint64_t value = 0;

  // "flip bit 3 of byte 17 of 000005.sst".
  std::string ToString() const;
  // The damaged files; equal to `files` if it changes nothing.
  Files Apply(const Files& files) const;
  // What may no longer be believed: from the first to behind the last byte that changed or moved.
  void DamagedRange(const Files& files, uint64_t* first, uint64_t* last) const;
};

// Flips (one random bit of each byte, or with `every_bit` all), truncations, zeroed 512-byte pieces
// and parts, swapped and duplicated parts within a file and between files, files in each other's
// place.
std::vector<Corruption> EnumerateCorruptions(const Files& files, const FileParts& parts,
                                             uint64_t seed, bool every_bit);

// One of any kind.
Corruption RandomCorruption(const Files& files, const FileParts& parts, uint64_t seed);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CORRUPTION_CORRUPTION_PLAN_H_
