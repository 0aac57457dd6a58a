// Command-line words taken apart.
//
//   static constexpr FlagSpec kFlags[] = {{"limit", "N", "stop after N entries"}};
//   absl::StatusOr<Arguments> arguments = Arguments::Parse(kFlags, words);
//   arguments->Text("limit")      // "10" of --limit=10 or --limit 10
#ifndef WINNOW_TOOLS_FLAGS_ARGUMENTS_H_
#define WINNOW_TOOLS_FLAGS_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::cli {

struct FlagSpec {
  std::string_view name;        // without the dashes
  std::string_view value_name;  // what stands for its value in help; empty: a switch
  std::string_view help;        // one line or several
  bool repeatable = false;
};

// As help shows it: "--limit=N", "--reverse"; with a name of one letter "-e COMMAND".
std::string FlagAsWritten(const FlagSpec& flag);

// The habits that a program follows.
enum class Dialect {
  // --name=value, --name value, --switch; with a name of one letter -n value. Other words are
  // positionals and may stand before or after flags; "--" ends the flags.
  kPlain,
  // db_bench's: besides, -name, --switch=BOOLEAN and --noswitch, which is --switch=false; a flag
  // may be given again, and the last one counts. No positionals.
  kDbBench,
};

class Arguments {
 public:
  // InvalidArgument: a flag that `flags` lacks (the nearest one is suggested), a flag without its
  // value, and what the dialect does not have: a switch with a value, a flag given twice that is
  // not repeatable, a positional.
  static absl::StatusOr<Arguments> Parse(std::span<const FlagSpec> flags,
                                         std::span<const std::string> words,
                                         Dialect dialect = Dialect::kPlain);

  bool Has(std::string_view flag) const { return values_.find(flag) != values_.end(); }
  // The value of a flag, if it was given; the last one of several. A switch without a value has
  // "true" in db_bench's dialect and "" in the plain one.
  std::optional<std::string> Text(std::string_view flag) const;
  // As if `--flag=value` had been given, and no other value of it.
  void Set(std::string flag, std::string value) { values_[std::move(flag)] = {std::move(value)}; }
  // As if the flag had not been given.
  void Clear(std::string_view flag);
  // InvalidArgument if the value is no whole number from 0 to 2^64 - 1.
  absl::StatusOr<std::optional<uint64_t>> Number(std::string_view flag) const;
  // Every value of a flag, in order.
  std::vector<std::string> All(std::string_view flag) const;

  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  // Takes `words.front()`, a flag, and perhaps the word behind it; gives how many it took.
  absl::StatusOr<size_t> TakeFlag(std::span<const FlagSpec> flags,
                                  std::span<const std::string> words, Dialect dialect);

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positionals_;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_FLAGS_ARGUMENTS_H_
