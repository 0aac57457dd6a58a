// Reads a whole table and says what is wrong with it.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_VERIFIER_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_VERIFIER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/sstable/filter_block_verifier.h"
#include "engine/sstable/index_block.h"
#include "engine/sstable/key_hash_verifier.h"
#include "engine/sstable/readahead_buffer.h"
#include "engine/sstable/signature_verifier.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

// One run of SstableReader::Verify. Reads past the cache, so that it sees what the file holds now.
class SstableVerifier {
 public:
  // Either parser may be null.
  SstableVerifier(const SstableReader& table, KeyTimeParser key_time_parser,
                  SignedEntryParser signed_entry_parser)
      : table_(table),
        key_time_parser_(key_time_parser),
        signatures_(table, signed_entry_parser),
        key_hashes_(table),
        readahead_(table.file_, table.figures_.data_bytes, /*in_pages=*/true) {
    if (key_time_parser != nullptr) seen_.key_times.emplace();
  }

  std::vector<SstableProblem> Run();

 private:
  void Report(uint64_t offset, std::string_view reason, bool is_damage = true);
  void Report(uint64_t offset, const absl::Status& status);

  absl::Status CheckAll();
  void CheckHeader();
  void CheckFrame();
  void CheckFilters();
  const std::vector<SstableProblem>& CheckFilter(const FilterBlockSource& source,
                                                 std::span<const filter::BuiltUnit> units,
                                                 std::string_view key_text, std::string_view name);
  void CheckSignatures();
  void CheckKeyHashes();
  void CheckRangeTombstones();
  void CheckRangeFilter();
  void CheckIndex();
  void CheckPartitions();
  void CheckHeads(const IndexBlock& index);
  // All data blocks of one lowest-level index block, or of the directory that stands for it.
  template <typename Index>
  void CheckDataBlocks(const Index& index);
  void CheckDataBlock(const BlockHandle& handle, std::string_view separator);
  // The block's contents, in the handle's memory or, where that is empty, until the next call.
  absl::StatusOr<BlockRef> ReadDataBlock(const BlockHandle& handle, std::string_view* contents);
  void CheckEntry(const BlockHandle& handle, std::string_view key, std::string_view value);
  // The first entries of each kind of problem; CheckAll says how many more there are.
  void ReportEntry(const BlockHandle& handle, std::string_view key, std::string_view what);
  void ReportEntriesLeftOut();
  // Says what of them denies a key that the table has: no sample could show that.
  void AskFilters(std::string_view user_key, absl::FunctionRef<void(std::string_view)> report);
  void CheckCounts();

  // The table's own filter, and its filter file's.
  struct CheckedFilter {
    std::string_view name;
    FilterBlockVerifier block;
    uint64_t hash_seed = 0;
    std::optional<filter::FilterKeyExtractor> key;  // empty: keys cannot be asked for
  };

  const SstableReader& table_;
  const KeyTimeParser key_time_parser_;  // may be null
  SignatureVerifier signatures_;
  KeyHashVerifier key_hashes_;
  ReadaheadBuffer readahead_;
  std::vector<CheckedFilter> filters_;
  std::vector<SstableProblem> problems_;
  struct BadEntries {
    uint64_t count = 0;
    uint64_t last_offset = 0;  // of the block
  };
  std::map<std::string, BadEntries, std::less<>> bad_entries_;  // by kind of problem
  // As they are in the file now; an error: CheckFrame reports it.
  absl::StatusOr<SstableProperties> stored_;
  SstableProperties seen_;             // counted from the entries
  bool skipped_a_block_ = false;       // counts mean nothing then
  uint64_t expected_data_offset_ = 0;  // first the end of the header
  std::string last_key_;
  std::string key_successor_;
  std::optional<std::string> last_separator_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_VERIFIER_H_
