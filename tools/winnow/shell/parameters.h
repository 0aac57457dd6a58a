// What a command of the shell was given, taken piece by piece.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_PARAMETERS_H_
#define WINNOW_TOOLS_WINNOW_SHELL_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/winnow/shell/value.h"

namespace winnow::shell {

// A value as text: numbers and booleans as they are written. InvalidArgument, which calls it
// `what`: it is something else, as a word that is not quoted.
absl::StatusOr<std::string> TextOf(const Value& value, std::string_view what);
// A number from 0 to 2^63 - 1, which may be quoted.
absl::StatusOr<uint64_t> NumberOf(const Value& value, std::string_view what);
absl::StatusOr<bool> BooleanOf(const Value& value, std::string_view what);
// One text, or a list of them.
absl::StatusOr<std::vector<std::string>> TextsOf(const Value& value, std::string_view what);

// The entries of a hash, taken by their keys. Of keys that are there twice the last counts.
class Keywords {
 public:
  Keywords() = default;
  explicit Keywords(Value hash);

  bool empty() const { return entries_.empty(); }
  bool Has(std::string_view key) const;
  // Unset if the key is not there, or its value is nil.
  std::optional<Value> Take(std::string_view key);
  absl::StatusOr<std::optional<std::string>> TakeText(std::string_view key);
  absl::StatusOr<std::optional<uint64_t>> TakeNumber(std::string_view key);
  absl::StatusOr<bool> TakeBoolean(std::string_view key);  // false if it is not there
  // InvalidArgument names a key that nobody has taken.
  absl::Status Finish() const;

 private:
  std::vector<std::pair<std::string, Value>> entries_;
};

// The arguments of a command, from the first to the last.
class Parameters {
 public:
  explicit Parameters(std::vector<Value> values) : values_(std::move(values)) {}

  bool empty() const { return next_ == values_.size(); }
  bool NextIs(Value::Type type) const { return !empty() && values_[next_].Is(type); }
  const Value& Take() { return values_[next_++]; }  // requires that there is one

  // InvalidArgument says that `what` is missing.
  absl::StatusOr<std::string> TakeText(std::string_view what);
  absl::StatusOr<uint64_t> TakeNumber(std::string_view what);
  // The hash that is next; empty if there is none.
  Keywords TakeKeywords();
  // InvalidArgument: there are more.
  absl::Status Finish() const;

 private:
  const std::vector<Value> values_;
  size_t next_ = 0;
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_PARAMETERS_H_
