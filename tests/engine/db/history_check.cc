#include "tests/engine/db/history_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace winnow {

namespace {

// Which calls must come before which others, transitively closed.
class Order {
 public:
  explicit Order(size_t num_calls)
      : num_words_((num_calls + 63) / 64), after_(num_calls, Row(num_words_, 0)) {}

  bool IsBefore(size_t a, size_t b) const { return (after_[a][b / 64] >> (b % 64) & 1) != 0; }
  // Adds one pair of an order that is transitive by itself; before any call of Add.
  void SetBefore(size_t a, size_t b) { after_[a][b / 64] |= uint64_t{1} << (b % 64); }
  // True if that was not known before.
  bool Add(size_t a, size_t b) {
    if (a == b || IsBefore(a, b)) return false;
    Row follows = after_[b];
    follows[b / 64] |= uint64_t{1} << (b % 64);
    for (size_t x = 0; x < after_.size(); x++) {
      if (x != a && !IsBefore(x, a)) continue;
      for (size_t word = 0; word < num_words_; word++) after_[x][word] |= follows[word];
    }
    return true;
  }
  // A call that must come before itself.
  std::optional<size_t> FindCycle() const {
    for (size_t i = 0; i < after_.size(); i++) {
      if (IsBefore(i, i)) return i;
    }
    return std::nullopt;
  }

 private:
  using Row = std::vector<uint64_t>;  // a bit for each call
  const size_t num_words_;
  std::vector<Row> after_;
};

// A read saw what a write had written to a key; no write: the key as it was at the beginning.
struct Seen {
  size_t read;
  int key;
  std::optional<size_t> write;
};

class Check {
 public:
  explicit Check(const std::vector<HistoryCall>& calls) : calls_(calls), order_(calls.size()) {}

  std::optional<std::string> Run() {
    for (size_t a = 0; a < calls_.size(); a++) {
      for (const auto& [key, value] : calls_[a].values) {
        if (calls_[a].is_write) writers_[key].push_back(a);
      }
      for (size_t b = 0; b < calls_.size(); b++) {
        if (calls_[a].end < calls_[b].begin) order_.SetBefore(a, b);
      }
    }
    if (auto problem = MatchReads()) return problem;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Seen& seen : seen_) changed = Narrow(seen) || changed;
      if (const auto inside = order_.FindCycle()) return Explain(*inside);
    }
    return std::nullopt;
  }

 private:
  // Finds out which write each read saw.
  std::optional<std::string> MatchReads() {
    for (size_t read = 0; read < calls_.size(); read++) {
      if (calls_[read].is_write) continue;
      for (const auto& [key, value] : calls_[read].values) {
        std::vector<std::optional<size_t>> explanations;
        for (const size_t write : writers_[key]) {
          const bool begun = calls_[write].begin < calls_[read].end;
          if (begun && calls_[write].values.at(key) == value) explanations.emplace_back(write);
        }
        if (value == 0) explanations.emplace_back(std::nullopt);
        if (explanations.empty()) {
          return absl::StrCat("no write explains key ", key, " of ", calls_[read].ToString());
        }
        if (explanations.size() == 1) seen_.push_back({read, key, explanations[0]});
      }
    }
    return std::nullopt;
  }

  // Every other write of the key comes before the write that was seen, or after the read.
  bool Narrow(const Seen& seen) {
    bool changed = seen.write.has_value() && order_.Add(*seen.write, seen.read);
    for (const size_t other : writers_[seen.key]) {
      if (seen.write == other) continue;
      if (!seen.write.has_value() || order_.IsBefore(*seen.write, other)) {
        changed = order_.Add(seen.read, other) || changed;
      }
      if (seen.write.has_value() && order_.IsBefore(other, seen.read)) {
        changed = order_.Add(other, *seen.write) || changed;
      }
    }
    return changed;
  }

  std::string Explain(size_t inside) const {
    std::string text = "these would each have to come before themselves:";
    for (size_t i = 0; i < calls_.size(); i++) {
      if (i != inside && !(order_.IsBefore(inside, i) && order_.IsBefore(i, inside))) continue;
      absl::StrAppend(&text, "\n  ", calls_[i].ToString());
    }
    return text;
  }

  const std::vector<HistoryCall>& calls_;
  Order order_;
  std::map<int, std::vector<size_t>> writers_;
  std::vector<Seen> seen_;
};

}  // namespace

std::string HistoryCall::ToString() const {
  std::string text = absl::StrCat(is_write ? "write" : "read", " [", begin, ", ", end, "]:");
  for (const auto& [key, value] : values) {
    absl::StrAppend(&text, " key ", key, " = ", value == 0 ? "absent" : absl::StrCat(value));
  }
  return text;
}

std::optional<std::string> FindContradiction(const std::vector<HistoryCall>& calls) {
  return Check(calls).Run();
}

}  // namespace winnow
