#include "engine/sstable/key_hash_verifier.h"

#include "engine/base/shared_prefix.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

namespace {

constexpr size_t kVerifierReadaheadBytes = size_t{256} << 10;

}  // namespace

KeyHashVerifier::KeyHashVerifier(const SstableReader& table) : table_(table) {
  if (!table.has_key_hashes()) return;
  SstableReadOptions options;
  options.readahead_bytes = kVerifierReadaheadBytes;
  cursor_.emplace(table, options);
}

// Entries are compared only with hashes that are whole: of damage one report is enough.
std::vector<SstableProblem> KeyHashVerifier::CheckBlocks() {
  std::vector<SstableProblem> problems;
  if (!cursor_.has_value()) return problems;
  for (uint64_t i = 0; i < cursor_->num_blocks(); i++) {
    const absl::Status read = cursor_->Read(i, &hashes_);
    if (!read.ok()) {
      problems.push_back(ProblemOf(table_.path(), cursor_->handle(i).offset, read));
    }
  }
  hashes_.clear();
  // Of a filter key of a newer version nobody knows what was hashed.
  checks_keys_ = problems.empty() && table_.key_hash_origin()->description->key_error.empty();
  return problems;
}

// Nothing at the end, and where a block that was sound cannot be read any more, for want of memory
// perhaps: then the keys are no longer checked.
std::optional<uint64_t> KeyHashVerifier::Next() {
  if (next_ == hashes_.size()) {
    next_ = 0;
    hashes_.clear();
    if (next_block_ == cursor_->num_blocks()) return std::nullopt;
    checks_keys_ = cursor_->Read(next_block_++, &hashes_).ok();
    if (!checks_keys_) return std::nullopt;
  }
  return hashes_[next_++];
}

// As the builder hashes them: each distinct part once, and of hashes that follow each other and are
// equal one.
std::string_view KeyHashVerifier::CheckKey(std::string_view user_key) {
  if (!checks_keys_) return {};
  if (last_hash_.has_value() && user_key == last_key_) return {};
  const KeyHashOrigin& origin = *table_.key_hash_origin();
  filter::FilterKeyExtractor::Hashes expected;
  const size_t count = origin.description->key.NewHashes(
      user_key, CommonPrefix(user_key, last_key_), origin.seed, &expected);
  last_key_.assign(user_key);
  for (size_t i = 0; i < count; i++) {
    if (expected[i] == last_hash_) continue;
    last_hash_ = expected[i];
    const std::optional<uint64_t> stored = Next();
    if (!checks_keys_) return {};
    if (stored == expected[i]) continue;
    checks_keys_ = false;
    return "the key hashes are not those of the keys from here on";
  }
  return {};
}

std::string_view KeyHashVerifier::CheckEnd() {
  if (!checks_keys_ || !Next().has_value()) return {};
  return "key hash block: more hashes than keys";
}

}  // namespace winnow
