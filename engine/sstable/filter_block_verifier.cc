#include "engine/sstable/filter_block_verifier.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/sstable/filter_unit_list.h"

namespace winnow {

// Units first, since their checksums say which of them is damaged. The block's own then covers what
// belongs to none: the header before them, and the place where all of it stands in the file.
FilterBlockVerifier::FilterBlockVerifier(const FilterBlockSource& source,
                                         std::span<const filter::BuiltUnit> listed) {
  if (!source.handle.exists()) return;
  const size_t stored_bytes = source.handle.size + kBlockTrailerBytes;
  memory_ = filter::ResidentMemory(stored_bytes);
  if (memory_.data() == nullptr) {
    // No damage: nothing was looked at. A repair must not give up a table for it.
    problems_.push_back({source.handle.offset, "filter block: no memory to check it", false});
    return;
  }
  absl::Status status = source.file->ReadBytes(source.handle.offset, stored_bytes, memory_.data());
  if (!status.ok()) {
    problems_.push_back(ProblemOf(source.file->path(), source.handle.offset, status));
    return;
  }
  if (!listed.empty() && UnitsFillBlock(listed, source.handle.size)) CheckUnits(source, listed);
  // Which says the same once more of a unit that is damaged.
  if (!problems_.empty()) return;
  Compression compression;
  status = source.file->CheckTrailer(std::string_view(memory_.data(), stored_bytes), source.handle,
                                     BlockKind::kFilter, true, &compression);
  if (!status.ok()) {
    problems_.push_back(ProblemOf(source.file->path(), source.handle.offset, status));
  } else if (compression != Compression::kNone) {
    problems_.push_back({source.handle.offset, "filter block: is compressed"});
  } else if (readers_.empty() && !source.made_by_policy) {
    CheckWhole(source);
  }
}

void FilterBlockVerifier::CheckWhole(const FilterBlockSource& source) {
  filter::FilterState state;
  const filter::FilterReader reader =
      filter::FilterReader::Open(std::string_view(memory_.data(), source.handle.size), &state);
  Take(reader, source.hash_seed, std::move(state), source.handle.offset, "");
}

// As FilterUnits reads them: a unit's own checksum says nothing of the place that it came from, but
// the list does.
void FilterBlockVerifier::CheckUnits(const FilterBlockSource& source,
                                     std::span<const filter::BuiltUnit> listed) {
  uint64_t at = filter::kFilterBlockHeaderBytes;
  for (size_t i = 0; i < listed.size(); i++) {
    const std::string_view bytes(memory_.data() + at, listed[i].bytes);
    filter::FilterState state;
    const filter::FilterReader reader =
        filter::FilterReader::OpenUnit(bytes, listed[i].checksum, &state);
    Take(reader, source.hash_seed, std::move(state), source.handle.offset + at,
         absl::StrCat("unit ", i + 1, " of ", listed.size(), ": "));
    at += listed[i].bytes;
  }
}

// A filter of another seed is refused as ReadFilterBlock refuses it: asked by hashes of the table's
// seed it would deny keys that it holds.
void FilterBlockVerifier::Take(const filter::FilterReader& reader, uint64_t hash_seed,
                               filter::FilterState state, uint64_t offset, std::string_view unit) {
  if (state.code == filter::FilterStateCode::kOk && !reader.always_true() &&
      reader.hash_seed() != hash_seed) {
    state.code = filter::FilterStateCode::kDamaged;
    state.reason = "made with another hash seed than the table names";
  }
  if (state.code == filter::FilterStateCode::kOk) {
    readers_.push_back(reader);
    return;
  }
  problems_.push_back({offset, absl::StrCat("filter block: ", ToAbsl(unit), ToAbsl(state.reason))});
}

}  // namespace winnow
