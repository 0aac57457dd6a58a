#include "tests/engine/soak/worker.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace winnow::soak {

namespace {

constexpr uint64_t kKeys = 4000;
constexpr size_t kMaxValueBytes = 1000;

// Bytes that do not compress.
std::string RandomBytes(size_t length) {
  std::mt19937_64 random(length);
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace

Worker::Worker(uint64_t seed, int number, const std::atomic<bool>& faults, bool wrong_model)
    : random_(seed),
      prefix_(absl::StrCat("worker", number, ":")),
      faults_(faults),
      wrong_model_(wrong_model),
      noise_(RandomBytes(2 * kMaxValueBytes)) {}

std::string Worker::AnyKey() { return absl::StrFormat("%s%06d", prefix_, random_() % kKeys); }

Worker::Value Worker::Expected(const std::string& key) const {
  const auto found = model_.find(key);
  return found == model_.end() ? Value() : Value(found->second);
}

std::optional<std::string> Worker::Step(DB& db) {
  faults_when_step_began_ = faults_;
  const uint64_t choice = random_() % 100;
  if (choice < 60) return Write(db);
  if (choice < 95) return Get(db);
  return Scan(db);
}

std::optional<std::string> Worker::JudgeError(const absl::Status& status, std::string_view call,
                                              std::atomic<uint64_t>* count) {
  (*count)++;
  const bool faults = faults_when_step_began_ || faults_;
  if (faults && !absl::IsDataLoss(status) && !absl::IsInternal(status)) return std::nullopt;
  return absl::StrCat(std::string(call), " fails although nothing is wrong: ", status.ToString());
}

std::optional<std::string> Worker::Write(DB& db) {
  WriteBatch batch;
  std::map<std::string, Value> updates;
  for (uint64_t left = random_() % 8 == 0 ? 10 : 1; left > 0; left--) {
    const std::string key = AnyKey();
    if (random_() % 6 == 0) {
      updates[key] = std::nullopt;
      batch.Delete(db.DefaultColumnFamily(), key);
    } else {
      const size_t begin = random_() % kMaxValueBytes;
      const size_t bytes = random_() % kMaxValueBytes;
      updates[key] = absl::StrCat(next_value_++, ":", noise_.substr(begin, bytes));
      batch.Put(db.DefaultColumnFamily(), key, *updates[key]);
    }
  }
  WriteOptions options;
  options.sync = random_() % 200 == 0;
  const absl::Status status = db.Write(options, batch);
  if (!status.ok()) {
    // Any other error says that nothing was written.
    if (absl::StrContains(status.message(), "its outcome is unknown")) {
      for (const auto& [key, value] : updates) unknown_[key].insert(value);
    }
    return JudgeError(status, "a write", &counts_.failed_writes);
  }
  counts_.writes++;
  for (const auto& [key, value] : updates) {
    unknown_.erase(key);
    if (value.has_value()) {
      model_[key] = *value;
    } else if (!wrong_model_ || next_value_ % 100 != 0) {
      model_.erase(key);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Worker::Get(DB& db) {
  const std::string key = AnyKey();
  std::string value;
  const absl::Status status = db.Get(ReadOptions(), key, &value);
  if (!status.ok() && !absl::IsNotFound(status)) {
    return JudgeError(status, "Get", &counts_.failed_reads);
  }
  counts_.reads++;
  const Value seen = status.ok() ? Value(value) : Value();
  if (seen == Expected(key)) return std::nullopt;
  return absl::StrCat("Get of ", key, " shows ", seen.value_or("absent").substr(0, 20), ", not ",
                      Expected(key).value_or("absent").substr(0, 20));
}

std::optional<std::string> Worker::Scan(DB& db) {
  ReadOptions read;
  read.lower_bound = AnyKey();
  read.upper_bound = prefix_ + "~";
  auto expected = model_.lower_bound(*read.lower_bound);
  const auto iterator = db.NewIterator(read);
  iterator->SeekToFirst();
  for (int left = 30; left > 0 && iterator->Valid(); left--, iterator->Next(), ++expected) {
    if (expected == model_.end() || iterator->key() != expected->first ||
        iterator->value() != expected->second) {
      return absl::StrCat("an iterator shows ", std::string(iterator->key()), " wrongly");
    }
  }
  if (!iterator->status().ok()) {
    return JudgeError(iterator->status(), "an iterator", &counts_.failed_reads);
  }
  counts_.reads++;
  if (!iterator->Valid() && expected != model_.end()) {
    return absl::StrCat("an iterator ends before ", expected->first);
  }
  return std::nullopt;
}

std::optional<std::string> Worker::Resolve(DB& db) {
  for (const auto& [key, values] : std::exchange(unknown_, {})) {
    std::string value;
    const absl::Status status = db.Get(ReadOptions(), key, &value);
    if (!status.ok() && !absl::IsNotFound(status)) return status.ToString();
    const Value seen = status.ok() ? Value(value) : Value();
    if (seen != Expected(key) && !values.contains(seen)) {
      return absl::StrCat("after reopening, ", key, " holds what was never written to it last");
    }
    if (seen.has_value()) {
      model_[key] = *seen;
    } else {
      model_.erase(key);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Worker::CheckAll(DB& db) {
  ReadOptions read;
  read.lower_bound = prefix_;
  read.upper_bound = prefix_ + "~";
  const auto iterator = db.NewIterator(read);
  auto expected = model_.begin();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++expected) {
    if (expected == model_.end() || iterator->key() != expected->first ||
        iterator->value() != expected->second) {
      return absl::StrCat("at the end, ", std::string(iterator->key()), " is wrong");
    }
  }
  if (!iterator->status().ok()) return iterator->status().ToString();
  if (expected != model_.end()) return absl::StrCat("at the end, ", expected->first, " is gone");
  return std::nullopt;
}

}  // namespace winnow::soak
