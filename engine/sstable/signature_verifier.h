// Checks the signatures of a table, and that they have what its entries say.
#ifndef WINNOW_ENGINE_SSTABLE_SIGNATURE_VERIFIER_H_
#define WINNOW_ENGINE_SSTABLE_SIGNATURE_VERIFIER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/signed_entry.h"
#include "engine/sstable/signature_cursor.h"
#include "engine/sstable/sstable_problem.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// Reads past the cache, what the file holds now.
class SignatureVerifier {
 public:
  // The parser may be null: then entries are not checked. The table outlives it.
  SignatureVerifier(const SstableReader& table, SignedEntryParser parser);

  // Reads all of the signatures, if the table has any: checksums, structure, order. First of all.
  std::vector<SstableProblem> CheckBlocks();
  // How many groups have one; nothing of a damaged block.
  uint64_t num_signatures() const { return num_signatures_; }

  // What is wrong with the signature of an entry's group; empty: nothing, or nobody knows. Entries
  // come in their order.
  std::string_view CheckEntry(std::string_view internal_key, std::string_view value);

 private:
  void CheckBlock(size_t block, std::vector<SstableProblem>* problems);

  const SstableReader& table_;
  const SignedEntryParser parser_;
  SignatureCursor cursor_;
  uint64_t num_signatures_ = 0;
  std::string last_group_;
  bool can_check_entries_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SIGNATURE_VERIFIER_H_
