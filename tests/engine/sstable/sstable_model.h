// Tables in memory beside the sorted map that says what they must answer.
#ifndef WINNOW_TESTS_ENGINE_SSTABLE_TABLE_MODEL_H_
#define WINNOW_TESTS_ENGINE_SSTABLE_TABLE_MODEL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/filter/hash.h"
#include "winnow/memory_file_system.h"

namespace winnow {

// A file that is a string; fails the read number `fail_at` (from 1) and, with `fail_forever`, all
// later ones, and each read of a byte of [bad_begin, bad_end).
class StringFile final : public RandomAccessFile {
 public:
  explicit StringFile(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    num_reads++;
    reads.emplace_back(offset, offset + length);
    if (fail_at != 0 && num_reads >= fail_at && (fail_forever || num_reads == fail_at)) {
      return read_error;
    }
    if (offset < bad_end && offset + length > bad_begin) return read_error;
    if (offset >= bytes_.size()) return 0;
    const size_t available = std::min<uint64_t>(length, bytes_.size() - offset);
    std::memcpy(buffer, bytes_.data() + offset, available);
    return available;
  }
  uint64_t size() const override { return bytes_.size(); }
  void Prefetch(uint64_t offset, size_t length) const override {
    prefetches.emplace_back(offset, offset + length);
  }

  mutable uint64_t num_reads = 0;
  mutable std::vector<std::pair<uint64_t, uint64_t>> reads;  // from and to
  mutable std::vector<std::pair<uint64_t, uint64_t>> prefetches;
  uint64_t fail_at = 0;
  bool fail_forever = false;
  uint64_t bad_begin = 0;
  uint64_t bad_end = 0;
  absl::Status read_error = absl::UnavailableError("injected read error");

 private:
  const std::string bytes_;
};

struct InternalKeyLess {
  InternalKeyComparator comparator{BytewiseComparator()};
  bool operator()(const std::string& a, const std::string& b) const {
    return comparator.Compare(a, b) < 0;
  }
};
// Internal keys and values.
using SstableModel = std::map<std::string, std::string, InternalKeyLess>;

inline filter::FilterSpec Spec(std::string_view text) {
  auto spec = filter::ParseFilterSpec(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

inline filter::FilterKeyExtractor Extractor(std::string_view text) {
  auto extractor = filter::FilterKeyExtractor::Parse(text);
  EXPECT_TRUE(extractor.ok()) << extractor.status();
  return *extractor;
}

struct BuiltTable {
  std::string bytes;
  SstableSummary summary;
};

inline BuiltTable BuildTable(const SstableModel& model, const SstableBuilderOptions& options) {
  const std::unique_ptr<FileSystem> memory = NewMemoryFileSystem();
  auto file = memory->Create("/table", WritableFileOptions{});
  EXPECT_TRUE(file.ok()) << file.status();
  SstableBuilder builder(options, *std::move(file), "/table");
  for (const auto& [key, value] : model) {
    const absl::Status added = builder.Add(key, value);
    EXPECT_TRUE(added.ok()) << added;
  }
  BuiltTable table;
  auto summary = builder.Finish();
  EXPECT_TRUE(summary.ok()) << summary.status();
  if (summary.ok()) table.summary = *summary;
  table.bytes = ReadFile(*memory, "/table", uint64_t{1} << 40).value();
  return table;
}

inline absl::StatusOr<std::unique_ptr<SstableReader>> OpenSstable(
    std::string bytes, const SstableReaderOptions& options = {}) {
  return SstableReader::Open(options, std::make_unique<StringFile>(std::move(bytes)), "t.sst");
}

// The newest entry of `user_key` at `snapshot`, or end().
inline SstableModel::const_iterator ModelGet(const SstableModel& model, std::string_view user_key,
                                             SequenceNumber snapshot) {
  const auto found = model.lower_bound(MakeInternalKey(user_key, snapshot, kEntryTypeForSeek));
  if (found == model.end()) return found;
  const Comparator* const user = model.key_comp().comparator.user();
  return user->Compare(UserKey(found->first), user_key) == 0 ? found : model.end();
}

// Compares one look-up with the model.
inline void ExpectGet(const SstableReader& table, const SstableModel& model,
                      std::string_view user_key, SequenceNumber snapshot,
                      const SstableReadOptions& options = {}) {
  PointResult result;
  const absl::Status status = table.Get(options, user_key, snapshot, &result);
  ASSERT_TRUE(status.ok()) << status;
  const auto expected = ModelGet(model, user_key, snapshot);
  ASSERT_EQ(result.found, expected != model.end()) << "key of " << user_key.size() << " bytes";
  if (!result.found) return;
  EXPECT_TRUE(result.filter_key_present);
  EXPECT_EQ(result.value, expected->second);
  EXPECT_EQ(result.sequence, Sequence(expected->first));
  EXPECT_EQ(result.type, Type(expected->first));
}

// Compares where an iterator stands with the model.
inline void ExpectAt(const SstableIterator& iterator, const SstableModel& model,
                     SstableModel::const_iterator expected) {
  ASSERT_TRUE(iterator.status().ok()) << iterator.status();
  ASSERT_EQ(iterator.Valid(), expected != model.end());
  if (!iterator.Valid()) return;
  ASSERT_EQ(iterator.key(), expected->first);
  ASSERT_EQ(iterator.value(), expected->second);
}

// Both directions over the whole table.
inline void ExpectScansEqual(const SstableReader& table, const SstableModel& model,
                             const SstableReadOptions& options = {}) {
  const std::unique_ptr<SstableIterator> iterator = table.NewIterator(options);
  iterator->SeekToFirst();
  for (auto expected = model.begin(); expected != model.end(); ++expected) {
    ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, model, expected));
    iterator->Next();
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, model, model.end()));
  iterator->SeekToLast();
  for (auto expected = model.rbegin(); expected != model.rend(); ++expected) {
    ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, model, std::prev(expected.base())));
    iterator->Prev();
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, model, model.end()));
}

inline void ExpectSeeks(SstableIterator& iterator, const SstableModel& model,
                        const std::string& internal_key) {
  const auto at_or_after = model.lower_bound(internal_key);
  iterator.Seek(internal_key);
  ASSERT_NO_FATAL_FAILURE(ExpectAt(iterator, model, at_or_after));
  iterator.SeekForPrev(internal_key);
  const auto after = model.upper_bound(internal_key);
  ASSERT_NO_FATAL_FAILURE(
      ExpectAt(iterator, model, after == model.begin() ? model.end() : std::prev(after)));
}

// Every version of every key, keys around them, and both kinds of seeks.
inline void ExpectTableEqualsModel(const SstableReader& table, const SstableModel& model,
                                   const SstableReadOptions& options = {}) {
  ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(table, model, options));
  const std::unique_ptr<SstableIterator> iterator = table.NewIterator(options);
  for (const auto& [key, value] : model) {
    const std::string user_key(UserKey(key));
    std::vector<std::string> around = {user_key, user_key + '\0', user_key + '\xff'};
    if (!user_key.empty()) around.push_back(user_key.substr(0, user_key.size() - 1));
    for (const std::string& near : around) {
      for (const SequenceNumber snapshot :
           {Sequence(key), Sequence(key) + 1, Sequence(key) > 0 ? Sequence(key) - 1 : 0,
            SequenceNumber{0}, kMaxSequenceNumber}) {
        ASSERT_NO_FATAL_FAILURE(ExpectGet(table, model, near, snapshot, options));
        ASSERT_NO_FATAL_FAILURE(
            ExpectSeeks(*iterator, model, MakeInternalKey(near, snapshot, kEntryTypeForSeek)));
        ASSERT_NO_FATAL_FAILURE(
            ExpectSeeks(*iterator, model, MakeInternalKey(near, snapshot, EntryType::kPut)));
      }
    }
    if (table.has_filter()) {
      for (size_t part = 0; part < table.filter_key().num_parts(); part++) {
        const auto hash = table.filter_key().PartHash(part, user_key, table.hash_seed());
        ASSERT_TRUE(!hash.has_value() || table.filter().MayContain(*hash));
      }
    }
  }
}

// Keys of one to `max_length` bytes from a small alphabet, so that many share prefixes and have
// several versions; one entry in eight deletes.
inline SstableModel RandomModel(std::mt19937_64& random, size_t entries, size_t max_length,
                                size_t max_value_bytes, SstableModel model = {}) {
  constexpr std::string_view kBytes("\0ab\x7f\x80\xff", 6);
  for (size_t i = 0; i < entries; i++) {
    std::string key(random() % (max_length + 1), '\0');
    for (char& byte : key) byte = kBytes[random() % kBytes.size()];
    const bool deletes = random() % 8 == 0;
    std::string value(deletes ? 0 : random() % (max_value_bytes + 1), '\0');
    for (char& byte : value) byte = static_cast<char>(random() % 4);
    model[MakeInternalKey(key, 1 + random() % 1000,
                          deletes ? EntryType::kDelete : EntryType::kPut)] = value;
  }
  return model;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_SSTABLE_TABLE_MODEL_H_
