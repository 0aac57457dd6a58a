// A server with BF.* and CF.* commands, as far as ModuleFilter uses them: the filters are this
// library's, which dump the bytes of the real module.

#ifndef WINNOW_TESTS_FILTER_REDIS_FAKE_MODULE_H_
#define WINNOW_TESTS_FILTER_REDIS_FAKE_MODULE_H_

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/filter/redis/fake_server.h"
#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter::redis {

class FakeModule {
 public:
  FakeModule() : server_([this](const FakeServer::Words& words) { return Answer(words); }) {}

  std::string url() const { return server_.url(); }
  int num_commands() const { return server_.num_commands(); }
  const std::vector<std::string>& reserves() const { return reserves_; }
  void AddString(const std::string& key) { strings_[key] = "value"; }
  // Called after each chunk that was loaded, while its loader waits.
  void AfterChunks(std::function<void()> call) { after_chunk_ = std::move(call); }
  // LOADCHUNK fails from the n-th on.
  void FailChunks(int n) { chunks_before_failure_ = n; }
  std::vector<std::string> keys() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, chunks] : chunks_) keys.push_back(key);
    return keys;
  }
  // Those that expire.
  std::set<std::string> expiring() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return expiring_;
  }

 private:
  using Words = FakeServer::Words;

  static std::string Bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }
  static std::string Integer(uint64_t value) { return ":" + std::to_string(value) + "\r\n"; }
  static std::string Array(size_t count) { return "*" + std::to_string(count) + "\r\n"; }

  bool Exists(const std::string& key) const {
    return blooms_.count(key) + cuckoos_.count(key) + strings_.count(key) + chunks_.count(key) != 0;
  }

  std::string Answer(const Words& words) {
    std::string answer = AnswerAlone(words);
    if (after_chunk_ && words[0].find("LOADCHUNK") != std::string::npos) after_chunk_();
    return answer;
  }

  std::string AnswerAlone(const Words& words) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (words[0] == "EVALSHA") return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    if (words[0] == "EVAL")
      return words[2] == "2" ? Publish(words[3], words[4]) : AnswerTyped(words);
    if (words[0] == "EXISTS") return Integer(Exists(words[1]) ? 1 : 0);
    if (words[0] == "BF.RESERVE" || words[0] == "CF.RESERVE") return Reserve(words);
    if (words[0] == "BF.LOADCHUNK" || words[0] == "CF.LOADCHUNK") return Load(words);
    if (words[0] == "PEXPIRE" && Exists(words[1])) {
      expiring_.insert(words[1]);
      return Integer(1);
    }
    if (words[0] == "PEXPIRE") return Integer(0);
    if (words[0] == "UNLINK") {
      return Integer(chunks_.erase(words[1]) + blooms_.erase(words[1]) + cuckoos_.erase(words[1]));
    }
    return "-ERR unknown command '" + words[0] + "'\r\n";
  }

  std::string Reserve(const Words& words) {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    reserves_.push_back(line);
    if (Exists(words[1])) return "-ERR item exists\r\n";
    if (words[0] == "BF.RESERVE") {
      const uint32_t expansion = words.size() < 5           ? 2
                                 : words[4] == "NONSCALING" ? 0
                                                            : std::stoul(words[5]);
      blooms_.emplace(words[1], *RedisBloomFilter::Create(
                                    {std::stod(words[2]), std::stoull(words[3]), expansion}));
    } else {
      cuckoos_.emplace(words[1],
                       *RedisBloomCuckooFilter::Create({.capacity = std::stoull(words[2])}));
    }
    return "+OK\r\n";
  }

  // What the script does: EVAL script 1 key command argument...
  std::string AnswerTyped(const Words& words) {
    const std::string& key = words[3];
    const bool is_bloom = words[4].substr(0, 2) == "BF";
    if (!Exists(key)) return Array(1) + Bulk("missing");
    if (strings_.count(key) != 0) return Array(2) + Bulk("type") + Bulk("string");
    if (is_bloom != (blooms_.count(key) != 0)) {
      return Array(2) + Bulk("type") + Bulk(is_bloom ? "MBbloomCF" : "MBbloom--");
    }
    const Words items(words.begin() + 5, words.end());
    return Array(2) + Bulk("ok") +
           (is_bloom ? Bloom(&blooms_.at(key), words[4], items)
                     : Cuckoo(&cuckoos_.at(key), words[4], items));
  }

  static std::string Bloom(RedisBloomFilter* filter, const std::string& command,
                           const Words& items) {
    std::string answer = Array(items.size());
    if (command == "BF.SCANDUMP") return Chunk(filter->Dump(), items[0]);
    if (command == "BF.INFO") return Array(2) + "+Capacity\r\n" + Integer(filter->capacity());
    if (command == "BF.ADD") return Integer(*filter->Add(items[0]) ? 1 : 0);
    if (command == "BF.EXISTS") return Integer(filter->Contains(items[0]) ? 1 : 0);
    for (size_t i = 0; i < items.size(); ++i) {
      if (command == "BF.MEXISTS") {
        answer += Integer(filter->Contains(items[i]) ? 1 : 0);
      } else if (const auto added = filter->Add(items[i]); added.ok()) {
        answer += Integer(*added ? 1 : 0);
      } else {  // as the module: the array ends with an error
        return Array(i + 1) + answer.substr(answer.find('\n') + 1) +
               "-ERR non scaling filter is full\r\n";
      }
    }
    return answer;
  }

  static std::string Cuckoo(RedisBloomCuckooFilter* filter, const std::string& command,
                            const Words& items) {
    if (command == "CF.SCANDUMP") return Chunk(filter->Dump(), items[0]);
    if (command == "CF.ADD") return Integer(filter->Add(items[0]).ok() ? 1 : 0);
    if (command == "CF.EXISTS") return Integer(filter->Contains(items[0]) ? 1 : 0);
    if (command == "CF.DEL") return Integer(filter->Remove(items[0]) ? 1 : 0);
    const size_t first = command == "CF.INSERT" ? 2 : 0;  // NOCREATE ITEMS
    std::string answer = Array(items.size() - first);
    for (size_t i = first; i < items.size(); ++i) {
      const bool yes = first == 0 ? filter->Contains(items[i]) : filter->Add(items[i]).ok();
      answer += Integer(yes ? 1 : 0);
    }
    return answer;
  }

  static std::string Chunk(const std::vector<RedisBloomChunk>& chunks, const std::string& after) {
    size_t next = 0;
    while (after != "0" && std::to_string(chunks[next].iterator) != after) ++next;
    if (after != "0") ++next;
    if (next == chunks.size()) return Array(2) + Integer(0) + Bulk("");
    return Array(2) + Integer(chunks[next].iterator) + Bulk(chunks[next].data);
  }

  // What the script that ends a Restore does.
  std::string Publish(const std::string& loaded, const std::string& name) {
    if (!Exists(loaded)) return Array(1) + Bulk("missing");
    if (Exists(name)) return Array(1) + Bulk("exists");
    const auto move = [&](auto* values) {
      auto node = values->extract(loaded);
      if (node.empty()) return;
      node.key() = name;
      values->insert(std::move(node));
    };
    move(&blooms_);
    move(&cuckoos_);
    move(&chunks_);
    expiring_.erase(loaded);
    return Array(1) + Bulk("ok");
  }

  std::string Load(const Words& words) {
    if (chunks_before_failure_-- == 0) return "-ERR received bad data\r\n";
    std::vector<RedisBloomChunk>& chunks = chunks_[words[1]];
    chunks.push_back({std::stoull(words[2]), words[3]});
    if (auto bloom = RedisBloomFilter::Load(chunks); bloom.ok()) {
      blooms_.insert_or_assign(words[1], *std::move(bloom));
    } else if (auto cuckoo = RedisBloomCuckooFilter::Load(chunks); cuckoo.ok()) {
      cuckoos_.insert_or_assign(words[1], *std::move(cuckoo));
    }
    return "+OK\r\n";
  }

  // Of all below: one command at a time, as Redis.
  std::mutex mutex_;
  std::map<std::string, RedisBloomFilter> blooms_;
  std::map<std::string, RedisBloomCuckooFilter> cuckoos_;
  std::map<std::string, std::string> strings_;
  std::map<std::string, std::vector<RedisBloomChunk>> chunks_;
  std::set<std::string> expiring_;
  int chunks_before_failure_ = -1;  // none
  std::vector<std::string> reserves_;
  std::function<void()> after_chunk_;
  FakeServer server_;  // last: its threads use the others
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_TESTS_FILTER_REDIS_FAKE_MODULE_H_
