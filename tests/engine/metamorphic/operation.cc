#include "tests/engine/metamorphic/operation.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_model.h"

namespace winnow::metamorphic {

namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Operation::Kind::kCount)> kKindNames = {
    "put",      "delete",    "merge",      "delete-range",  "batch",  "transact", "get",
    "multiget", "may-exist", "exists",     "iterate",       "take",   "release",  "flush",
    "compact",  "reopen",    "set-filter", "refilter",      "create", "drop",     "checkpoint",
    "backup",   "ingest",    "verify",     "advance-clock",
};

constexpr std::array<std::string_view, 7> kMoveNames = {"first", "last", "seek",   "seek-for-prev",
                                                        "next",  "prev", "refresh"};

struct Weight {
  Operation::Kind kind;
  int in_a_thousand;
};
// What is left to a thousand are large batches, which fill memtables.
constexpr Weight kWeights[] = {
    {Operation::Kind::kPut, 165},
    {Operation::Kind::kDelete, 75},
    {Operation::Kind::kDeleteRange, 20},
    {Operation::Kind::kTransact, 30},
    {Operation::Kind::kMerge, 80},
    {Operation::Kind::kBatch, 70},
    {Operation::Kind::kGet, 130},
    {Operation::Kind::kMultiGet, 60},
    {Operation::Kind::kMayExist, 40},
    {Operation::Kind::kExists, 40},
    {Operation::Kind::kIterate, 135},
    {Operation::Kind::kTakeSnapshot, 30},
    {Operation::Kind::kReleaseSnapshot, 25},
    {Operation::Kind::kFlush, 20},
    {Operation::Kind::kCompact, 10},
    {Operation::Kind::kReopen, 5},
    {Operation::Kind::kSetFilter, 7},
    {Operation::Kind::kRefilter, 5},
    {Operation::Kind::kCreateFamily, 10},
    {Operation::Kind::kDropFamily, 4},
    {Operation::Kind::kCheckpoint, 2},
    {Operation::Kind::kBackup, 2},
    {Operation::Kind::kVerify, 4},
    {Operation::Kind::kIngest, 10},
    {Operation::Kind::kAdvanceClock, 15},
};

class LogGenerator {
 public:
  explicit LogGenerator(uint64_t seed) : random_(seed), keys_(&random_) {}

  Operation Next(uint64_t number) {
    Operation operation;
    operation.number = number;
    operation.family = AnyFamily();
    int choice = static_cast<int>(keys_.Below(1000));
    for (const Weight& weight : kWeights) {
      choice -= weight.in_a_thousand;
      if (choice < 0) {
        operation.kind = weight.kind;
        Fill(&operation);
        return operation;
      }
    }
    operation.kind = Operation::Kind::kBatch;
    AddUpdates(&operation, 150);
    return operation;
  }

 private:
  void Fill(Operation* operation) {
    switch (operation->kind) {
      case Operation::Kind::kPut:
        operation->updates.push_back({operation->family, keys_.Any(), keys_.Value()});
        break;
      case Operation::Kind::kDelete:
        operation->updates.push_back({operation->family, keys_.Any(), std::nullopt});
        break;
      case Operation::Kind::kMerge:
        operation->updates.push_back(
            {operation->family, keys_.Any(), keys_.Value(), MayMerge(operation->family)});
        break;
      case Operation::Kind::kDeleteRange:
        operation->updates.push_back(AnyRangeDeletion(operation->family));
        break;
      case Operation::Kind::kBatch:
        AddUpdates(operation, keys_.Below(12));
        AddRangeDeletions(operation);
        break;
      case Operation::Kind::kTransact:
        FillTransact(operation);
        break;
      case Operation::Kind::kIngest:
        AddUpdates(operation, 1 + keys_.Below(60));
        break;
      case Operation::Kind::kGet:
      case Operation::Kind::kMayExist:
      case Operation::Kind::kExists:
        operation->snapshot = SometimesSnapshot();
        operation->keys.push_back(keys_.Any());
        break;
      case Operation::Kind::kMultiGet:
        operation->snapshot = SometimesSnapshot();
        operation->keys.resize(keys_.Below(70));
        for (std::string& key : operation->keys) key = keys_.Any();
        break;
      case Operation::Kind::kIterate:
        FillIterate(operation);
        break;
      case Operation::Kind::kTakeSnapshot:
      case Operation::Kind::kReleaseSnapshot:
        operation->snapshot = static_cast<int>(keys_.Below(kSnapshotSlots));
        break;
      case Operation::Kind::kCompact:
        if (keys_.Below(2) == 0) operation->lower = keys_.Any();
        if (keys_.Below(2) == 0) operation->upper = keys_.Any();
        break;
      case Operation::Kind::kAdvanceClock:
        operation->seconds = 1 + keys_.Below(keys_.Below(4) == 0 ? 200 : 20);
        break;
      case Operation::Kind::kCreateFamily:
      case Operation::Kind::kDropFamily:
        operation->family = 1 + static_cast<int>(keys_.Below(kFamilySlots - 1));
        break;
      default:
        break;
    }
  }

  void AddUpdates(Operation* operation, uint64_t count) {
    for (; count > 0; count--) {
      Update update{AnyFamily(), keys_.Any(), std::nullopt};
      if (const uint64_t choice = keys_.Below(6); choice > 1) {
        update.value = keys_.Value();
        update.merges = choice == 2 && MayMerge(update.family);
      }
      operation->updates.push_back(std::move(update));
    }
  }

  // Mostly of few keys, so that there is something left to read.
  Update AnyRangeDeletion(int family) {
    Update update{family, keys_.Any(), std::nullopt};
    if (keys_.Below(16) == 0) {
      update.end = keys_.Any();
      if (*update.end < update.key) std::swap(*update.end, update.key);
    } else {
      const size_t cut = std::min<size_t>(keys_.Below(3), update.key.size() / 2);
      update.key.resize(update.key.size() - cut);
      update.end = update.key + static_cast<char>(keys_.Below(256));
    }
    return update;
  }
  // Between other updates, before and behind which they stand.
  void AddRangeDeletions(Operation* operation) {
    std::vector<Update>& updates = operation->updates;
    for (uint64_t left = keys_.Below(4) == 0 ? 1 + keys_.Below(2) : 0; left > 0; left--) {
      const auto place = static_cast<std::ptrdiff_t>(keys_.Below(updates.size() + 1));
      updates.insert(updates.begin() + place, AnyRangeDeletion(AnyFamily()));
    }
  }

  void FillTransact(Operation* operation) {
    AddUpdates(operation, keys_.Below(12));
    AddRangeDeletions(operation);
    operation->kept_updates = keys_.Below(3) == 0 ? keys_.Below(operation->updates.size() + 1)
                                                  : operation->updates.size();
    operation->rolls_back = keys_.Below(5) == 0;
    operation->keys.resize(keys_.Below(8));
    for (std::string& key : operation->keys) key = keys_.Any();
    for (size_t i = 0; i < operation->keys.size() && i < operation->updates.size(); i += 2) {
      operation->keys[i] = operation->updates[i].key;
    }
    if (keys_.Below(2) == 0) operation->lower = keys_.Any();
    if (keys_.Below(2) == 0) operation->upper = keys_.Any();
  }

  void FillIterate(Operation* operation) {
    operation->snapshot = SometimesSnapshot();
    if (keys_.Below(4) == 0) operation->iterator = static_cast<int>(keys_.Below(kIteratorSlots));
    if (keys_.Below(3) == 0) {  // inside one prefix, where filters may serve
      operation->lower = keys_.Any().substr(0, 1 + keys_.Below(6));
      operation->upper = *operation->lower + std::string(1 + keys_.Below(3), '\xff');
    } else {
      if (keys_.Below(2) == 0) operation->lower = keys_.Any();
      if (keys_.Below(2) == 0) operation->upper = keys_.Any();
    }
    operation->moves.push_back(AnySeek());
    // One that was held shows what has been written since.
    if (operation->iterator != kNoSlot && keys_.Below(2) == 0) {
      operation->moves.push_back({Move::Kind::kRefresh, ""});
      operation->moves.push_back(AnySeek());
    }
    for (uint64_t left = keys_.Below(30); left > 0; left--) {
      if (keys_.Below(10) == 0) {
        operation->moves.push_back(AnySeek());
      } else {
        operation->moves.push_back(
            {keys_.Below(3) != 0 ? Move::Kind::kNext : Move::Kind::kPrev, ""});
      }
    }
  }

  Move AnySeek() {
    switch (keys_.Below(4)) {
      case 0:
        return {Move::Kind::kSeekToFirst, ""};
      case 1:
        return {Move::Kind::kSeekToLast, ""};
      case 2:
        return {Move::Kind::kSeek, keys_.Any()};
      default:
        return {Move::Kind::kSeekForPrev, keys_.Any()};
    }
  }

  // Where data expires there is no merge operator.
  static bool MayMerge(int family) { return kTtlSeconds[family] == 0; }
  int AnyFamily() { return static_cast<int>(keys_.Below(kFamilySlots)); }
  int SometimesSnapshot() {
    return keys_.Below(4) == 0 ? static_cast<int>(keys_.Below(kSnapshotSlots)) : kNoSlot;
  }

  std::mt19937_64 random_;
  KeyMaker keys_;
};

std::string Bound(const std::optional<std::string>& bound) {
  return bound.has_value() ? Quoted(*bound) : "-";
}

}  // namespace

std::string_view KindName(Operation::Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::vector<Operation> GenerateLog(uint64_t seed, size_t count) {
  LogGenerator generator(seed);
  std::vector<Operation> log;
  log.reserve(count);
  for (size_t i = 0; i < count; i++) log.push_back(generator.Next(i));
  return log;
}

std::string FamilyName(int slot) { return slot == 0 ? "default" : absl::StrCat("family", slot); }

std::string Quoted(std::string_view bytes) {
  constexpr size_t kShown = 40;
  const std::string shown(bytes.substr(0, kShown));
  std::string quoted = absl::StrCat("\"", absl::CHexEscape(shown), "\"");
  if (bytes.size() > kShown) absl::StrAppend(&quoted, "… (", bytes.size(), " bytes)");
  return quoted;
}

std::string Operation::ToString() const {
  std::string text(KindName(kind));
  for (const Update& update : updates) {
    absl::StrAppend(&text, " ", FamilyName(update.family), " ", Quoted(update.key));
    if (update.value.has_value()) {
      absl::StrAppend(&text, update.merges ? " += " : " = ", update.value->size(), " bytes;");
    } else if (update.end.has_value()) {
      absl::StrAppend(&text, " to ", Quoted(*update.end), " deleted;");
    } else {
      absl::StrAppend(&text, " deleted;");
    }
  }
  if (kind == Kind::kTransact) {
    absl::StrAppend(&text, rolls_back ? " rolled back" : " committed", ", the first ", kept_updates,
                    " kept, read in ", FamilyName(family));
  }
  if (updates.empty() && kind != Kind::kTakeSnapshot && kind != Kind::kReleaseSnapshot &&
      kind != Kind::kReopen && kind != Kind::kCheckpoint && kind != Kind::kBackup &&
      kind != Kind::kVerify && kind != Kind::kAdvanceClock) {
    absl::StrAppend(&text, " ", FamilyName(family));
  }
  if (kind == Kind::kAdvanceClock) absl::StrAppend(&text, " by ", seconds, " s");
  for (const std::string& key : keys) absl::StrAppend(&text, " ", Quoted(key));
  if (lower.has_value() || upper.has_value()) {
    absl::StrAppend(&text, " from ", Bound(lower), " to ", Bound(upper));
  }
  if (snapshot != kNoSlot) absl::StrAppend(&text, " snapshot ", snapshot);
  if (iterator != kNoSlot) absl::StrAppend(&text, " iterator ", iterator);
  for (const Move& move : moves) {
    absl::StrAppend(&text, " ", std::string(kMoveNames[static_cast<size_t>(move.kind)]));
    if (!move.key.empty()) absl::StrAppend(&text, " ", Quoted(move.key));
    absl::StrAppend(&text, ";");
  }
  return text;
}

}  // namespace winnow::metamorphic
