// Checks the key hashes of a table, and that they are those of its entries.
#ifndef WINNOW_ENGINE_SSTABLE_KEY_HASH_VERIFIER_H_
#define WINNOW_ENGINE_SSTABLE_KEY_HASH_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sstable/key_hashes.h"
#include "engine/sstable/sstable_problem.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// Reads past the cache, what the file holds now.
class KeyHashVerifier {
 public:
  // The table outlives it.
  explicit KeyHashVerifier(const SstableReader& table);

  // Reads all blocks, if the table has any: checksums and structure. First of all.
  std::vector<SstableProblem> CheckBlocks();

  // What is wrong with the hashes of a user key, or empty. Keys come in their order, all versions
  // of each. After the first problem nothing is said of later keys: which hash is whose is known by
  // their order alone.
  std::string_view CheckKey(std::string_view user_key);
  // Entries were left out, so that nothing can be said of those that follow.
  void StopCheckingKeys() { checks_keys_ = false; }
  // After the last key: are there more hashes than keys have? Empty: no, or nobody knows.
  std::string_view CheckEnd();

 private:
  std::optional<uint64_t> Next();

  const SstableReader& table_;
  std::optional<KeyHashCursor> cursor_;  // none: the table has no hashes
  bool checks_keys_ = false;
  uint64_t next_block_ = 0;
  std::vector<uint64_t> hashes_;  // of the block before that one
  size_t next_ = 0;               // of hashes_
  std::string last_key_;
  std::optional<uint64_t> last_hash_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_KEY_HASH_VERIFIER_H_
