// Any bytes as a sequence of calls: the first bytes choose the options, each further one is a call
// with its arguments in the bytes behind it. A database in memory and sorted maps must agree.

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "engine/db/option_checks.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/test_clock.h"
#include "winnow/db.h"
#include "winnow/ingest.h"
#include "winnow/memory_file_system.h"
#include "winnow/refilter.h"
#include "winnow/transaction.h"

namespace {

using winnow::fuzz::Require;
using Contents = std::map<std::string, std::string>;

// Bounds for one input, so that none is slow.
constexpr int kMaxCalls = 150;
// Flushes, compactions, ingestions, refilterings, reopenings, new families.
constexpr int kMaxSlowCalls = 12;
constexpr size_t kMaxSnapshots = 4;
constexpr size_t kMaxFamilies = 3;
constexpr uint64_t kTtlSeconds = 100;

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t Next() {
    if (size_ == 0) return 0;
    size_--;
    return *data_++;
  }
  size_t Below(size_t bound) { return Next() % bound; }

 private:
  const uint8_t* data_;
  size_t size_;
};

// Few, so that they meet again; with shared prefixes, delimiters, and bytes at both ends.
const std::vector<std::string>& Keys() {
  using namespace std::string_literals;
  static const std::vector<std::string> keys = {"",
                                                "a",
                                                "ab",
                                                "abc",
                                                "abcd",
                                                "abcde",
                                                "abce",
                                                "b:",
                                                "b:1",
                                                "b:1:",
                                                "b:1:2",
                                                "\0"s,
                                                "\0\0"s,
                                                "\xff",
                                                "\xff\xff",
                                                "\xff:",
                                                "abcd\xff"s,
                                                "abcd\xff\xff",
                                                std::string(300, 'k'),
                                                "z"};
  return keys;
}
const std::string& AnyKey(Bytes& bytes) { return Keys()[bytes.Below(Keys().size())]; }

std::string AnyValue(Bytes& bytes) {
  const size_t shape = bytes.Next();
  return std::string(shape < 200 ? shape % 20 : shape * 16, static_cast<char>('a' + shape % 26));
}

constexpr const char* kFilters[] = {"blocked_bloom:10", "bloom:10", "cuckoo:1%", "binary_fuse:8",
                                    "ribbon:8",         "none",     "auto"};
// In the form in which they are given back.
constexpr winnow::OptionSetting kSettings[] = {
    {"write_buffer_bytes", "64K"},   {"write_buffer_bytes", "1M"},   {"block_bytes", "256"},
    {"block_bytes", "16K"},          {"compression", "none"},        {"compression", "zstd"},
    {"compaction", "tiered"},        {"compaction", "leveled"},      {"compaction", "lazy_leveled"},
    {"level0_stop_trigger", "40"},   {"background_threads", "1"},    {"background_threads", "3"},
    {"db_write_buffer_bytes", "1M"}, {"db_write_buffer_bytes", "0"}, {"max_open_files", "16"}};
constexpr const char* kFilterKeys[] = {
    "whole",         "prefix:4",       "prefix:1",          "delimiter::",
    "delimiter:::2", "whole+prefix:4", "prefix:4+prefix:1", "whole+prefix:1+delimiter::"};

class Session {
 public:
  explicit Session(Bytes& bytes) : files_(winnow::NewMemoryFileSystem()) {
    options_.file_system = files_.get();
    options_.background_threads = 1;
    options_.block_bytes = 256;
    options_.write_buffer_bytes = size_t{64} << 10;
    options_.target_file_bytes = size_t{64} << 10;
    options_.block_cache_bytes = bytes.Below(2) == 0 ? 0 : size_t{64} << 10;
    options_.compression =
        bytes.Below(2) == 0 ? winnow::Compression::kNone : winnow::Compression::kLz4;
    options_.filter_memory_budget = bytes.Below(2) == 0 ? 0 : uint64_t{64} << 10;
    options_.row_cache_bytes = bytes.Below(2) == 0 ? 0 : size_t{64} << 10;
    options_.filter = AnyFilter(bytes);
    options_.filter_key = kFilterKeys[bytes.Below(std::size(kFilterKeys))];
    options_.level0_compaction_trigger = static_cast<int>(1 + bytes.Below(3));
    options_.clock = &clock_;
    if (bytes.Below(2) == 0) {
      options_.ttl_seconds = kTtlSeconds;
    } else {
      options_.merge_operator = *winnow::ParseMergeOperator("append:");
    }
    Open();
    model_["default"];
  }
  ~Session() {
    ReleaseSnapshots();
    Require(db_->Close().ok(), "the database closes");
  }

  void Call(Bytes& bytes) {
    const size_t call = bytes.Below(23);
    if (call >= 14 && ++slow_calls_ > kMaxSlowCalls) return;
    switch (call) {
      case 0:
      case 1:
        return Put(bytes);
      case 2:
        return Merge(bytes);
      case 3:
        return Delete(bytes);
      case 4:
        return WriteBatch(bytes);
      case 5:
        return GetOne(bytes);
      case 6:
        return GetMany(bytes);
      case 7:
        return Walk(bytes);
      case 8:
        return WalkInBounds(bytes);
      case 9:
        return TakeSnapshot();
      case 10:
        return ReleaseSnapshot(bytes);
      case 11:
        return SetFilter(bytes);
      case 12:
        return DeleteRange(bytes);
      case 13:
        return Transact(bytes);
      case 14:
      case 15:
        return Succeeds(db_->Flush(Family(bytes)), "a flush");
      case 16:
        return Compact(bytes);
      case 17:
        return Reopen();
      case 18:
        return CreateFamily(bytes);
      case 19:
        return LetExpire();
      case 20:
        return Ingest(bytes);
      case 21:
        return Refilter(bytes);
      default:
        return DropFamily(bytes);
    }
  }

  void CheckEverything() {
    for (winnow::ColumnFamily* family : db_->ColumnFamilies()) {
      CheckWhole({}, family, model_.at(std::string(family->name())));
    }
    Require(db_->ColumnFamilies().size() == model_.size(), "the column families are those made");
    const auto problems = db_->Verify();
    Require(problems.ok() && problems->empty(), "every table is sound");
  }

 private:
  struct HeldSnapshot {
    const winnow::Snapshot* snapshot;
    std::map<std::string, Contents> contents;
  };

  static void Succeeds(const absl::Status& status, const char* what) { Require(status.ok(), what); }

  void Open() {
    auto opened = winnow::DB::Open(options_, "/db");
    Require(opened.ok(), "the database opens");
    db_ = *std::move(opened);
  }
  // Under a budget without its amount.
  std::string AnyFilter(Bytes& bytes) const {
    const char* const filter = kFilters[bytes.Below(std::size(kFilters))];
    return options_.filter_memory_budget == 0 ? filter : winnow::FilterWithoutAmount(filter);
  }
  winnow::ColumnFamily* Family(Bytes& bytes) {
    const auto families = db_->ColumnFamilies();
    return families[bytes.Below(families.size())];
  }
  Contents& ModelOf(const winnow::ColumnFamily* family) {
    return model_.at(std::string(family->name()));
  }

  // Where there is a time to live all families have it, and everything was written before.
  void LetExpire() {
    clock_.AdvanceSeconds(kTtlSeconds);
    if (!options_.ttl_seconds.has_value()) return;
    for (auto& [name, contents] : model_) contents.clear();
    for (HeldSnapshot& held : snapshots_) {
      for (auto& [name, contents] : held.contents) contents.clear();
    }
  }
  void Put(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    const std::string& key = AnyKey(bytes);
    const std::string value = AnyValue(bytes);
    Succeeds(db_->Put({}, family, key, value), "a put");
    ModelOf(family)[key] = value;
  }
  // Enough of them make a fold.
  void Merge(Bytes& bytes) {
    if (options_.merge_operator == nullptr) return;
    winnow::ColumnFamily* const family = Family(bytes);
    const std::string& key = AnyKey(bytes);
    const std::string operand = AnyValue(bytes).substr(0, 20);
    for (size_t left = bytes.Below(8) == 0 ? 300 : 1; left > 0; left--) {
      Succeeds(db_->Merge({}, family, key, operand), "a merge");
      ModelOf(family)[key] += operand;
    }
  }
  void Delete(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    const std::string& key = AnyKey(bytes);
    Succeeds(db_->Delete({}, family, key), "a delete");
    ModelOf(family).erase(key);
  }
  static void EraseRange(Contents* contents, const std::string& begin, const std::string& end) {
    contents->erase(contents->lower_bound(begin), contents->lower_bound(end));
  }
  void DeleteRange(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    const std::string& begin = AnyKey(bytes);
    const std::string& end = AnyKey(bytes);
    const absl::Status deleted = db_->DeleteRange({}, family, begin, end);
    if (end < begin)
      return Require(absl::IsInvalidArgument(deleted), "no range ends before it begins");
    Succeeds(deleted, "a range deletion");
    EraseRange(&ModelOf(family), begin, end);
  }
  // Of puts, deletions and, where they may be, operands.
  template <typename Writer>
  absl::Status WriteTo(Writer& writer, Bytes& bytes, const std::string& key, Contents* contents) {
    const size_t kind = bytes.Below(4);
    if (kind == 0) {
      contents->erase(key);
      return writer.Delete(key);
    }
    if (kind == 1 && options_.merge_operator != nullptr) {
      (*contents)[key] += "t";
      return writer.Merge(key, "t");
    }
    const std::string value = AnyValue(bytes);
    (*contents)[key] = value;
    return writer.Put(key, value);
  }
  // In the default family.
  void Transact(Bytes& bytes) {
    winnow::TransactionOptions how;
    if (bytes.Below(2) == 0) how.mode = winnow::TransactionOptions::Mode::kPessimistic;
    const auto begun = db_->BeginTransaction(how);
    Require(begun.ok(), "a transaction begins");
    Contents seen = model_.at("default");
    for (size_t left = bytes.Below(6); left > 0; left--) {
      const std::string& key = AnyKey(bytes);
      Succeeds(WriteTo(**begun, bytes, key, &seen), "a transaction's write");
      if (bytes.Below(4) == 0) {
        const std::string& end = AnyKey(bytes);
        const absl::Status deleted = (*begun)->DeleteRange(key, end);
        Require(deleted.ok() == (key <= end), "a transaction's range deletion");
        if (deleted.ok()) EraseRange(&seen, key, end);
      }
      std::string value;
      const std::string& asked = AnyKey(bytes);
      const absl::Status got = (*begun)->Get({}, asked, &value);
      CheckGot(got, value, seen, asked);
    }
    if (bytes.Below(4) == 0) return Succeeds((*begun)->Rollback(), "a rollback");
    Succeeds((*begun)->Commit(), "a commit");
    model_.at("default") = std::move(seen);
  }
  void Ingest(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    files_->Remove("/table").IgnoreError();  // of a copy before
    const auto writer = db_->NewSstWriter(family, "/table");
    Require(writer.ok(), "a writer of tables");
    Contents& contents = ModelOf(family);
    std::set<std::string> keys;
    for (size_t left = 1 + bytes.Below(6); left > 0; left--) keys.insert(AnyKey(bytes));
    for (const std::string& key : keys) {
      Succeeds(WriteTo(**writer, bytes, key, &contents), "an entry of a table");
    }
    Succeeds((*writer)->Finish().status(), "a table");
    winnow::IngestOptions how;
    how.move = bytes.Below(2) == 0;
    Succeeds(db_->Ingest({{"/table", family}}, how).status(), "an ingestion");
  }
  void Refilter(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    winnow::RefilterOptions how;
    how.filter = AnyFilter(bytes);
    how.filter_key = kFilterKeys[bytes.Below(std::size(kFilterKeys))];
    Succeeds(db_->Refilter(family, how).status(), "other filters");
  }
  void WriteBatch(Bytes& bytes) {
    winnow::WriteBatch batch;
    for (size_t left = bytes.Below(6); left > 0; left--) {
      winnow::ColumnFamily* const family = Family(bytes);
      const std::string& key = AnyKey(bytes);
      const size_t kind = bytes.Below(5);
      if (kind == 0) {
        batch.Delete(family, key);
        ModelOf(family).erase(key);
      } else if (kind == 4) {
        const std::string& end = AnyKey(bytes);
        if (end < key) continue;
        batch.DeleteRange(family, key, end);
        EraseRange(&ModelOf(family), key, end);
      } else if (kind == 1 && options_.merge_operator != nullptr) {
        batch.Merge(family, key, "+");
        ModelOf(family)[key] += "+";
      } else {
        const std::string value = AnyValue(bytes);
        batch.Put(family, key, value);
        ModelOf(family)[key] = value;
      }
    }
    winnow::WriteOptions options;
    options.sync = bytes.Below(2) == 0;
    Succeeds(db_->Write(options, batch), "a batch");
  }

  // The present, or a snapshot if there is one.
  const std::map<std::string, Contents>& AnyMoment(Bytes& bytes, winnow::ReadOptions* options) {
    const size_t moment = bytes.Below(snapshots_.size() + 1);
    if (moment == snapshots_.size()) return model_;
    options->snapshot = snapshots_[moment].snapshot;
    return snapshots_[moment].contents;
  }
  // What the family held at the moment: nothing, if it is younger.
  static const Contents& ContentsOf(const std::map<std::string, Contents>& moment,
                                    const winnow::ColumnFamily* family) {
    static const Contents nothing;
    const auto found = moment.find(std::string(family->name()));
    return found == moment.end() ? nothing : found->second;
  }

  void CheckGot(const absl::Status& status, std::string_view value, const Contents& expected,
                const std::string& key) {
    const auto found = expected.find(key);
    if (found == expected.end()) {
      Require(absl::IsNotFound(status), "an absent key is not found");
    } else {
      Require(status.ok() && value == found->second, "a key has its value");
    }
  }
  void GetOne(Bytes& bytes) {
    winnow::ReadOptions options;
    const auto& moment = AnyMoment(bytes, &options);
    winnow::ColumnFamily* const family = Family(bytes);
    const Contents& expected = ContentsOf(moment, family);
    const std::string& key = AnyKey(bytes);
    std::string value;
    const absl::Status got = db_->Get(options, family, key, &value);
    CheckGot(got, value, expected, key);
    const bool exists = expected.contains(key);
    Require(db_->Exists(options, family, key).value() == exists, "Exists is exact");
    Require(db_->MayExist(options, family, key) || !exists, "MayExist hides no key");
  }
  void GetMany(Bytes& bytes) {
    winnow::ReadOptions options;
    const auto& moment = AnyMoment(bytes, &options);
    winnow::ColumnFamily* const family = Family(bytes);
    std::vector<std::string_view> keys;
    for (size_t left = bytes.Below(40); left > 0; left--) keys.push_back(AnyKey(bytes));
    std::vector<winnow::PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db_->MultiGet(options, family, keys, values, statuses);
    for (size_t i = 0; i < keys.size(); i++) {
      CheckGot(statuses[i], statuses[i].ok() ? values[i].view() : "", ContentsOf(moment, family),
               std::string(keys[i]));
    }
  }

  void CheckWhole(const winnow::ReadOptions& options, winnow::ColumnFamily* family,
                  const Contents& expected) {
    const auto iterator = db_->NewIterator(options, family);
    iterator->SeekToFirst();
    for (const auto& [key, value] : expected) {
      Require(iterator->Valid() && iterator->key() == key && iterator->value() == value,
              "a walk shows every key");
      iterator->Next();
    }
    Require(!iterator->Valid() && iterator->status().ok(), "a walk ends after the last key");
  }
  void CheckPosition(const winnow::Iterator& iterator, const Contents& expected,
                     Contents::const_iterator at) {
    Require(iterator.status().ok(), "an iterator meets no error");
    Require(iterator.Valid() == (at != expected.end()), "an iterator is where it should be");
    if (at == expected.end()) return;
    Require(iterator.key() == at->first && iterator.value() == at->second,
            "an iterator shows the right entry");
  }
  // Seeks and steps in both directions over `expected`.
  void Steer(Bytes& bytes, winnow::Iterator& iterator, const Contents& expected) {
    auto at = expected.end();
    for (size_t left = 1 + bytes.Below(24); left > 0; left--) {
      const size_t move = bytes.Below(8);
      if (move < 4 || !iterator.Valid()) {
        const std::string& key = AnyKey(bytes);
        switch (move % 4) {
          case 0:
            iterator.SeekToFirst();
            at = expected.begin();
            break;
          case 1:
            iterator.SeekToLast();
            at = expected.empty() ? expected.end() : std::prev(expected.end());
            break;
          case 2:
            iterator.Seek(key);
            at = expected.lower_bound(key);
            break;
          default:
            iterator.SeekForPrev(key);
            at = expected.upper_bound(key);
            at = at == expected.begin() ? expected.end() : std::prev(at);
        }
      } else if (move < 6) {
        iterator.Next();
        ++at;
      } else {
        iterator.Prev();
        at = at == expected.begin() ? expected.end() : std::prev(at);
      }
      CheckPosition(iterator, expected, at);
    }
  }
  void Walk(Bytes& bytes) {
    winnow::ReadOptions options;
    const auto& moment = AnyMoment(bytes, &options);
    winnow::ColumnFamily* const family = Family(bytes);
    Steer(bytes, *db_->NewIterator(options, family), ContentsOf(moment, family));
  }
  void WalkInBounds(Bytes& bytes) {
    winnow::ReadOptions options;
    const auto& moment = AnyMoment(bytes, &options);
    winnow::ColumnFamily* const family = Family(bytes);
    std::string lower = AnyKey(bytes);
    std::string upper = AnyKey(bytes);
    if (upper < lower) std::swap(lower, upper);
    options.lower_bound = lower;
    options.upper_bound = upper;
    const Contents& all = ContentsOf(moment, family);
    const Contents inside(all.lower_bound(lower), all.lower_bound(upper));
    Steer(bytes, *db_->NewIterator(options, family), inside);
  }

  void TakeSnapshot() {
    if (snapshots_.size() < kMaxSnapshots) snapshots_.push_back({db_->GetSnapshot(), model_});
  }
  void ReleaseSnapshot(Bytes& bytes) {
    if (snapshots_.empty()) return;
    const size_t index = bytes.Below(snapshots_.size());
    db_->ReleaseSnapshot(snapshots_[index].snapshot);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(index));
  }
  void ReleaseSnapshots() {
    for (const HeldSnapshot& held : snapshots_) db_->ReleaseSnapshot(held.snapshot);
    snapshots_.clear();
  }

  void SetFilter(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    const std::string filter = AnyFilter(bytes);
    const char* const filter_key = kFilterKeys[bytes.Below(std::size(kFilterKeys))];
    Succeeds(db_->SetFilter(family, filter, filter_key), "another filter");
    const winnow::OptionSetting setting = kSettings[bytes.Below(std::size(kSettings))];
    Succeeds(db_->SetOption(family, setting.name, setting.text), "another option");
    const auto text = db_->GetOption(family, setting.name);
    Require(text.ok() && *text == setting.text, "an option is as it was set");
  }
  void Compact(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    const std::string& begin = AnyKey(bytes);
    const std::string& end = AnyKey(bytes);
    std::optional<std::string_view> first;
    std::optional<std::string_view> last;
    if (bytes.Below(2) == 0) first = std::min(begin, end);
    if (bytes.Below(2) == 0) last = std::max(begin, end);
    Succeeds(db_->CompactRange(family, first, last), "a compaction");
  }
  void Reopen() {
    ReleaseSnapshots();
    Succeeds(db_->Close(), "closing");
    db_.reset();
    Open();
  }
  void CreateFamily(Bytes& bytes) {
    if (model_.size() > kMaxFamilies) return;
    winnow::ColumnFamilyOptions options = options_;
    options.filter = AnyFilter(bytes);
    const std::string name = "family" + std::to_string(families_made_++);
    Require(db_->CreateColumnFamily(options, name).ok(), "a column family is made");
    model_[name];
  }
  void DropFamily(Bytes& bytes) {
    winnow::ColumnFamily* const family = Family(bytes);
    if (family == db_->DefaultColumnFamily()) return;
    const std::string name(family->name());
    Succeeds(db_->DropColumnFamily(family), "a column family is dropped");
    model_.erase(name);
  }

  const std::unique_ptr<winnow::FileSystem> files_;
  winnow::TestClock clock_;
  winnow::Options options_;
  std::unique_ptr<winnow::DB> db_;
  std::map<std::string, Contents> model_;
  std::vector<HeldSnapshot> snapshots_;
  int slow_calls_ = 0;
  int families_made_ = 0;
};

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  // A byte for each call in turn, with arguments that differ from seed to seed.
  for (uint32_t seed = 1; seed <= 3; seed++) {
    std::string input;
    uint32_t random = seed * 2654435761U;
    for (int i = 0; i < 200; i++) {
      random = random * 1664525U + 1013904223U;
      input.push_back(static_cast<char>(random >> 24));
    }
    seeds.push_back(input);
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  Session session(bytes);
  for (int calls = 0; calls < kMaxCalls && !bytes.empty(); calls++) session.Call(bytes);
  session.CheckEverything();
  return 0;
}
