// RedisBloom's commands on filters of this library, for recordings of what the real module answers.

#ifndef WINNOW_TESTS_FILTER_DYNAMIC_REDISBLOOM_COMMANDS_H_
#define WINNOW_TESTS_FILTER_DYNAMIC_REDISBLOOM_COMMANDS_H_

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter::redisbloom {

using Words = std::vector<std::string>;

// An answer, printed in the two ways in which the recordings have them.
struct ModuleAnswer {
  enum class Type : uint8_t { kInteger, kOk, kName, kText, kNil, kError, kArray };
  Type type = Type::kOk;
  int64_t integer = 0;
  std::string text = "";
  std::vector<ModuleAnswer> elements = {};
};
using Answers = std::vector<ModuleAnswer>;

inline ModuleAnswer Integer(uint64_t value) {
  return {ModuleAnswer::Type::kInteger, static_cast<int64_t>(value)};
}
inline ModuleAnswer Full() { return {ModuleAnswer::Type::kInteger, -1}; }
inline ModuleAnswer Name(const std::string& text) { return {ModuleAnswer::Type::kName, 0, text}; }
inline ModuleAnswer Text(const std::string& text) { return {ModuleAnswer::Type::kText, 0, text}; }
inline ModuleAnswer Nil() { return {ModuleAnswer::Type::kNil}; }
inline ModuleAnswer Error() { return {ModuleAnswer::Type::kError}; }
inline ModuleAnswer Array(Answers elements) {
  return {ModuleAnswer::Type::kArray, 0, "", std::move(elements)};
}

// As the server sends it. The text of errors is the module's own: it is left away.
inline std::string Wire(const ModuleAnswer& answer) {
  switch (answer.type) {
    case ModuleAnswer::Type::kInteger:
      return absl::StrCat(":", answer.integer, "\r\n");
    case ModuleAnswer::Type::kOk:
      return "+OK\r\n";
    case ModuleAnswer::Type::kName:
      return absl::StrCat("+", answer.text, "\r\n");
    case ModuleAnswer::Type::kText:
      return absl::StrCat("$", answer.text.size(), "\r\n") + answer.text + "\r\n";
    case ModuleAnswer::Type::kNil:
      return "$-1\r\n";
    case ModuleAnswer::Type::kError:
      return "-";
    case ModuleAnswer::Type::kArray:
      break;
  }
  std::string text = absl::StrCat("*", answer.elements.size(), "\r\n");
  for (const ModuleAnswer& element : answer.elements) text += Wire(element);
  return text;
}

// As Python prints it.
inline std::string Python(const ModuleAnswer& answer, bool is_inside = false) {
  switch (answer.type) {
    case ModuleAnswer::Type::kInteger:
      return absl::StrCat(answer.integer);
    case ModuleAnswer::Type::kOk:
      return "b'OK'";
    case ModuleAnswer::Type::kName:
    case ModuleAnswer::Type::kText:
      return absl::StrCat("b'", answer.text, "'");
    case ModuleAnswer::Type::kNil:
      return "None";
    case ModuleAnswer::Type::kError:
      return is_inside ? "ResponseError(" : "(error)";
    case ModuleAnswer::Type::kArray:
      break;
  }
  std::string text = "[";
  for (const ModuleAnswer& element : answer.elements) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", Python(element, true));
  }
  return text + "]";
}

template <typename Field>
Field FieldAt(const std::string& head, size_t offset) {
  Field field;
  std::memcpy(&field, head.data() + offset, sizeof(field));
  return field;
}

// A server with the module, whose filters are ours. Nothing: the command is not about filters, or
// differs between versions of the module.
class Module {
 public:
  std::optional<ModuleAnswer> Run(const Words& words);
  void Forget(const std::string& key) {
    blooms_.erase(key);
    cuckoos_.erase(key);
    unknown_.erase(key);
  }
  void Put(const std::string& key, RedisBloomFilter filter) {
    blooms_.insert_or_assign(key, std::move(filter));
  }
  void Put(const std::string& key, RedisBloomCuckooFilter filter) {
    cuckoos_.insert_or_assign(key, std::move(filter));
  }

 private:
  using Names = std::span<const std::string>;

  bool IsUnknown(const Words& words);
  void Rename(const std::string& from, const std::string& to);
  std::optional<ModuleAnswer> RunBloom(const Words& words);
  std::optional<ModuleAnswer> RunCuckoo(const Words& words);
  ModuleAnswer ReserveBloom(const Words& words);
  ModuleAnswer ReserveCuckoo(const Words& words);
  std::optional<ModuleAnswer> InsertBloom(const Words& words);
  std::optional<ModuleAnswer> InsertCuckoo(const Words& words);
  static ModuleAnswer AddBloom(RedisBloomFilter* filter, Names items, bool is_list);
  static ModuleAnswer AddCuckoo(RedisBloomCuckooFilter* filter, Names items, bool only_new);

  RedisBloomFilter* Bloom(const std::string& key) {
    const auto found = blooms_.find(key);
    return found == blooms_.end() ? nullptr : &found->second;
  }
  RedisBloomCuckooFilter* Cuckoo(const std::string& key) {
    const auto found = cuckoos_.find(key);
    return found == cuckoos_.end() ? nullptr : &found->second;
  }
  bool IsString(const std::string& key) const { return strings_.count(key) != 0; }

  std::map<std::string, RedisBloomFilter> blooms_;
  std::map<std::string, RedisBloomCuckooFilter> cuckoos_;
  std::set<std::string> strings_ = {"str"};
  std::set<std::string> unknown_;  // made with options that have another meaning here
};

inline ModuleAnswer ForEach(std::span<const std::string> items,
                            const std::function<ModuleAnswer(const std::string&)>& call) {
  Answers answers;
  for (const std::string& item : items) answers.push_back(call(item));
  return Array(std::move(answers));
}

template <typename Filter>
inline ModuleAnswer Chunk(const Filter& filter, const std::string& after, bool is_bloom) {
  const std::vector<RedisBloomChunk> chunks = filter.Dump();
  if (filter.ApproximateCount() != 0 || is_bloom) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (after == (i == 0 ? "0" : std::to_string(chunks[i - 1].iterator))) {
        return Array({Integer(chunks[i].iterator), Text(chunks[i].data)});
      }
    }
  }
  return Array({Integer(0), is_bloom ? Text("") : Nil()});
}

// BF.DEBUG, out of the dump's head.
inline ModuleAnswer DebugBloom(const RedisBloomFilter& filter) {
  constexpr size_t kHead = 20;
  constexpr size_t kLayer = 53;
  const std::string head = filter.Dump().front().data;
  Answers lines = {Text(absl::StrCat("size:", filter.ApproximateCount()))};
  for (size_t at = kHead; at < head.size(); at += kLayer) {
    lines.push_back(
        Text(absl::StrFormat("bytes:%d bits:%d hashes:%d hashwidth:64 capacity:%d size:%d ratio:%g",
                             FieldAt<uint64_t>(head, at), FieldAt<uint64_t>(head, at + 8),
                             FieldAt<uint32_t>(head, at + 40), FieldAt<uint64_t>(head, at + 44),
                             FieldAt<uint64_t>(head, at + 16), FieldAt<double>(head, at + 24))));
  }
  return Array(std::move(lines));
}

inline ModuleAnswer InfoBloom(const RedisBloomFilter& filter) {
  const uint64_t size = 32 + 64 * filter.num_layers() + filter.memory_bytes();
  return Array({Name("Capacity"), Integer(filter.capacity()), Name("Size"), Integer(size),
                Name("Number of filters"), Integer(filter.num_layers()),
                Name("Number of items inserted"), Integer(filter.ApproximateCount()),
                Name("Expansion rate"),
                filter.expansion() == 0 ? Nil() : Integer(filter.expansion())});
}

inline std::optional<ModuleAnswer> InfoBloomField(const RedisBloomFilter& filter,
                                                  std::string field) {
  for (char& letter : field) letter = static_cast<char>(std::toupper(letter));
  static const std::map<std::string, size_t> kPlaces = {
      {"CAPACITY", 1}, {"SIZE", 3}, {"FILTERS", 5}, {"ITEMS", 7}, {"EXPANSION", 9}};
  const auto place = kPlaces.find(field);
  if (place == kPlaces.end()) return Error();
  return Array({InfoBloom(filter).elements[place->second]});
}

struct CuckooHead {
  uint64_t deletes;
  uint16_t max_iterations;
  uint16_t expansion;

  explicit CuckooHead(const RedisBloomCuckooFilter& filter) {
    const std::string head = filter.Dump().front().data;
    deletes = FieldAt<uint64_t>(head, 16);
    max_iterations = FieldAt<uint16_t>(head, 34);
    expansion = FieldAt<uint16_t>(head, 36);
  }
};

inline ModuleAnswer InfoCuckoo(const RedisBloomCuckooFilter& filter) {
  const CuckooHead head(filter);
  const uint64_t size = 40 + 16 * filter.num_tables() + filter.memory_bytes();
  return Array(
      {Name("Size"), Integer(size), Name("Number of buckets"), Integer(filter.num_buckets()),
       Name("Number of filters"), Integer(filter.num_tables()), Name("Number of items inserted"),
       Integer(filter.ApproximateCount()), Name("Number of items deleted"), Integer(head.deletes),
       Name("Bucket size"), Integer(filter.bucket_size()), Name("Expansion rate"),
       Integer(head.expansion), Name("Max iterations"), Integer(head.max_iterations)});
}

inline ModuleAnswer DebugCuckoo(const RedisBloomCuckooFilter& filter) {
  const CuckooHead head(filter);
  return Text(absl::StrFormat(
      "bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
      filter.bucket_size(), filter.num_buckets(), filter.ApproximateCount(), head.deletes,
      filter.num_tables(), head.max_iterations, head.expansion));
}

// Numbers as the module reads them, whole words only.
template <typename Number>
bool ReadNumber(const std::string& word, Number* number) {
  char* end = nullptr;
  if constexpr (std::is_floating_point_v<Number>) {
    *number = std::strtod(word.c_str(), &end);
  } else {
    if (word.front() == '-') return false;
    *number = static_cast<Number>(std::strtoull(word.c_str(), &end, 10));
  }
  return !word.empty() && *end == '\0';
}

inline ModuleAnswer Module::ReserveBloom(const Words& words) {
  if (words.size() < 4 || IsString(words[1]) || Bloom(words[1]) != nullptr) return Error();
  RedisBloomOptions options;
  if (!ReadNumber(words[2], &options.error_rate) || !ReadNumber(words[3], &options.capacity)) {
    return Error();
  }
  bool is_fixed = false;
  for (size_t i = 4; i < words.size(); ++i) {
    is_fixed |= words[i] == "NONSCALING" || words[i] == "nonscaling";
    if (words[i] != "EXPANSION" && words[i] != "expansion") continue;
    if (is_fixed || i + 1 == words.size() || !ReadNumber(words[i + 1], &options.expansion)) {
      return Error();
    }
  }
  if (is_fixed) options.expansion = 0;
  auto filter = RedisBloomFilter::Create(options);
  if (!filter.ok()) return Error();
  blooms_.emplace(words[1], *std::move(filter));
  return {};
}

inline ModuleAnswer Module::AddBloom(RedisBloomFilter* filter, Names items, bool is_list) {
  Answers answers;
  for (const std::string& item : items) {
    const auto added = filter->Add(item);
    answers.push_back(added.ok() ? Integer(*added ? 1 : 0) : Error());
    if (!added.ok()) break;
  }
  return is_list ? Array(std::move(answers)) : answers.front();
}

inline std::optional<ModuleAnswer> Module::InsertBloom(const Words& words) {
  RedisBloomOptions options;
  bool creates = true;
  size_t i = 2;
  for (; i < words.size() && words[i] != "ITEMS"; ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "NOCREATE") {
      creates = false;
    } else if (words[i] == "NONSCALING") {
      options.expansion = 0;
    } else if (!has_value ||
               !((words[i] == "CAPACITY" && ReadNumber(words[i + 1], &options.capacity)) ||
                 (words[i] == "ERROR" && ReadNumber(words[i + 1], &options.error_rate)) ||
                 (words[i] == "EXPANSION" && ReadNumber(words[i + 1], &options.expansion)))) {
      return Error();
    } else {
      ++i;
    }
  }
  if (i + 1 >= words.size() || IsString(words[1])) return Error();
  if (Bloom(words[1]) == nullptr) {
    auto filter = RedisBloomFilter::Create(options);
    if (!creates || !filter.ok()) return Error();
    blooms_.emplace(words[1], *std::move(filter));
  }
  return AddBloom(Bloom(words[1]), Names(words).subspan(i + 1), true);
}

inline std::optional<ModuleAnswer> Module::RunBloom(const Words& words) {
  const std::string command = words[0].substr(3);
  if (command == "RESERVE") return ReserveBloom(words);
  if (command == "LOADCHUNK") return std::nullopt;  // of other commands' dumps
  if (words.size() < 2) return Error();
  const std::string& key = words[1];
  const Names items = Names(words).subspan(2);
  if (command == "INSERT") return InsertBloom(words);
  RedisBloomFilter* filter = Bloom(key);
  const auto contains = [&](const std::string& item) {
    return Integer(filter != nullptr && filter->Contains(item) ? 1 : 0);
  };
  if (command == "MEXISTS" || command == "MADD" || command == "EXISTS" || command == "ADD") {
    const bool is_list = command[0] == 'M';
    if (items.empty() || (!is_list && items.size() > 1)) return Error();
    if (command == "EXISTS") return contains(items[0]);
    if (command == "MEXISTS") return ForEach(items, contains);
    if (IsString(key)) return Error();
    if (filter == nullptr) blooms_.emplace(key, *RedisBloomFilter::Create({}));
    return AddBloom(Bloom(key), items, is_list);
  }
  if (command == "CARD" && !IsString(key)) {
    return Integer(filter == nullptr ? 0 : filter->ApproximateCount());
  }
  if (filter == nullptr) return Error();
  if (command == "INFO") {
    return items.empty() ? InfoBloom(*filter) : InfoBloomField(*filter, items[0]);
  }
  if (command == "DEBUG") return DebugBloom(*filter);
  uint64_t iterator = 0;
  if (command == "SCANDUMP" && (ReadNumber(items[0], &iterator) || items[0] == "-1")) {
    return Chunk(*filter, items[0], true);
  }
  return command == "SCANDUMP" ? std::optional(Error()) : std::nullopt;
}

inline ModuleAnswer Module::ReserveCuckoo(const Words& words) {
  if (words.size() < 3 || words.size() % 2 == 0 || IsString(words[1]) ||
      Cuckoo(words[1]) != nullptr) {
    return Error();
  }
  RedisBloomCuckooOptions options;
  bool is_read = ReadNumber(words[2], &options.capacity);
  for (size_t i = 3; i + 1 < words.size(); i += 2) {
    uint32_t value = 0;
    is_read &= ReadNumber(words[i + 1], &value);
    if (words[i] == "BUCKETSIZE") options.bucket_size = static_cast<uint16_t>(value);
    if (words[i] == "MAXITERATIONS") options.max_iterations = static_cast<uint16_t>(value);
    if (words[i] == "EXPANSION") options.expansion = static_cast<uint16_t>(value);
  }
  auto filter = RedisBloomCuckooFilter::Create(options);
  if (!is_read || !filter.ok()) return Error();
  cuckoos_.emplace(words[1], *std::move(filter));
  return {};
}

inline ModuleAnswer Module::AddCuckoo(RedisBloomCuckooFilter* filter, Names items, bool only_new) {
  return ForEach(items, [&](const std::string& item) {
    if (only_new && filter->Contains(item)) return Integer(0);
    return filter->Add(item).ok() ? Integer(1) : Full();
  });
}

inline std::optional<ModuleAnswer> Module::InsertCuckoo(const Words& words) {
  RedisBloomCuckooOptions options;
  bool creates = true;
  size_t i = 2;
  for (; i < words.size() && words[i] != "ITEMS"; ++i) {
    if (words[i] == "NOCREATE") {
      creates = false;
    } else if (words[i] != "CAPACITY" || i + 1 == words.size() ||
               !ReadNumber(words[++i], &options.capacity)) {
      return Error();
    }
  }
  if (i + 1 >= words.size() || IsString(words[1])) return Error();
  if (Cuckoo(words[1]) == nullptr) {
    auto filter = RedisBloomCuckooFilter::Create(options);
    if (!creates || !filter.ok()) return Error();
    cuckoos_.emplace(words[1], *std::move(filter));
  }
  return AddCuckoo(Cuckoo(words[1]), Names(words).subspan(i + 1), words[0] == "CF.INSERTNX");
}

inline std::optional<ModuleAnswer> Module::RunCuckoo(const Words& words) {
  const std::string command = words[0].substr(3);
  if (command == "RESERVE") return ReserveCuckoo(words);
  if (command == "LOADCHUNK" || command == "COMPACT") return std::nullopt;
  const std::string& key = words[1];
  const Names items = Names(words).subspan(2);
  if (command == "INSERT" || command == "INSERTNX") return InsertCuckoo(words);
  RedisBloomCuckooFilter* filter = Cuckoo(key);
  const auto contains = [&](const std::string& item) {
    return Integer(filter != nullptr && filter->Contains(item) ? 1 : 0);
  };
  if (command == "EXISTS") return contains(items[0]);
  if (command == "MEXISTS") return ForEach(items, contains);
  if (command == "COUNT") return Integer(filter == nullptr ? 0 : filter->Count(items[0]));
  if (command == "ADD" || command == "ADDNX") {
    if (IsString(key)) return Error();
    if (filter == nullptr) cuckoos_.emplace(key, *RedisBloomCuckooFilter::Create({}));
    const ModuleAnswer added = AddCuckoo(Cuckoo(key), items, command == "ADDNX").elements[0];
    return added.integer < 0 ? Error() : added;
  }
  if (filter == nullptr) return Error();
  if (command == "DEL") return Integer(filter->Remove(items[0]) ? 1 : 0);
  if (command == "INFO") return InfoCuckoo(*filter);
  if (command == "DEBUG") return DebugCuckoo(*filter);
  uint64_t iterator = 0;
  if (command != "SCANDUMP") return std::nullopt;
  return ReadNumber(items[0], &iterator) ? Chunk(*filter, items[0], false) : Error();
}

inline void Module::Rename(const std::string& from, const std::string& to) {
  auto node = blooms_.extract(from);
  node.key() = to;
  blooms_.insert(std::move(node));
}

// Older versions take what today's module, and these filters, refuse or round down.
inline bool Module::IsUnknown(const Words& words) {
  if (words[0] == "BF.RESERVE") {
    const std::string options = absl::StrJoin(words.begin() + 1, words.end(), " ") + " ";
    for (const char* other : {" 0.3 ", " 0.9999 ", " 1073741825 ", "EXPANSION 0 ", "EXPANSION -1 ",
                              "EXPANSION 32769 ", "EXPANSION 40000 "}) {
      if (options.find(other) == std::string::npos) continue;
      unknown_.insert(words[1]);
      return true;
    }
    if (words.size() > 3) unknown_.erase(words[1]);
  }
  return words.size() > 1 && unknown_.count(words[1]) != 0;
}

inline std::optional<ModuleAnswer> Module::Run(const Words& words) {
  if (words[0] == "FLUSHALL") *this = Module();
  if (words[0] == "RENAME") Rename(words[1], words[2]);
  if (words[0] == "SET") {
    Forget(words[1]);
    strings_.insert(words[1]);
  }
  const std::string group = words[0].substr(0, 3);
  if ((group != "BF." && group != "CF.") || IsUnknown(words)) return std::nullopt;
  return group == "BF." ? RunBloom(words) : RunCuckoo(words);
}

}  // namespace winnow::filter::redisbloom

#endif  // WINNOW_TESTS_FILTER_DYNAMIC_REDISBLOOM_COMMANDS_H_
