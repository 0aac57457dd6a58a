#include "engine/sstable/signature_verifier.h"

#include "engine/base/write_time.h"

namespace winnow {

namespace {

// Any number has reads go past the cache.
SstableReadOptions PastTheCache() {
  SstableReadOptions options;
  options.readahead_bytes = 1;
  return options;
}

}  // namespace

SignatureVerifier::SignatureVerifier(const SstableReader& table, SignedEntryParser parser)
    : table_(table), parser_(parser), cursor_(table, PastTheCache()) {}

// Entries are checked only by what is whole: of damage one report is enough.
std::vector<SstableProblem> SignatureVerifier::CheckBlocks() {
  std::vector<SstableProblem> problems;
  if (!table_.has_signatures()) return problems;
  if (const absl::Status opened = cursor_.Open(); !opened.ok()) {
    problems.push_back(ProblemOf(table_.path(), cursor_.index_handle().offset, opened));
    return problems;
  }
  for (size_t i = 0; i < cursor_.index().blocks.size(); i++) CheckBlock(i, &problems);
  can_check_entries_ = problems.empty() && parser_ != nullptr;
  if (can_check_entries_) cursor_.Seek({});
  return problems;
}

// In order across blocks as well, and each block ends where the index says.
void SignatureVerifier::CheckBlock(size_t block, std::vector<SstableProblem>* problems) {
  const uint64_t offset = cursor_.block_handle(block).offset;
  const absl::StatusOr<BlockRef> read = cursor_.ReadBlock(block);
  if (!read.ok()) {
    problems->push_back(ProblemOf(table_.path(), offset, read.status()));
    return;
  }
  const std::string_view last_group = cursor_.index().blocks[block].last_group;
  bool is_in_order = true;
  SignatureBlockCursor groups(read->contents());
  for (; groups.Valid(); groups.Next()) {
    is_in_order = is_in_order && (num_signatures_ == 0 || groups.group() > last_group_);
    last_group_.assign(groups.group());
    num_signatures_++;
  }
  if (!is_in_order) problems->push_back({offset, "signature block: groups out of order"});
  if (last_group_ != last_group) {
    problems->push_back({offset, "signature block: does not end as the signature index says"});
  }
}

// Side by side with the entries, whose groups are in the same order.
std::string_view SignatureVerifier::CheckEntry(std::string_view internal_key,
                                               std::string_view value) {
  if (!can_check_entries_ || !IsPut(Type(internal_key))) return {};
  if (Type(internal_key) == EntryType::kPutWithTime) value = WithoutWriteTime(value);
  SignedEntry entry;
  if (!parser_(UserKey(internal_key), value, &entry)) {
    return "an entry without meaning in a table that has signatures";
  }
  const SignatureIndex& index = cursor_.index();
  if (!entry.has_value || !index.HasField(entry.field)) return {};
  while (cursor_.Valid() && cursor_.group() < entry.group) cursor_.Next();
  const bool is_signed =
      cursor_.Valid() && cursor_.group() == entry.group &&
      cursor_.signature().MayContain(Signature(entry.field, entry.value, index.seed));
  return is_signed ? std::string_view() : "its signature does not have its value";
}

}  // namespace winnow
