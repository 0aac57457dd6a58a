// Command-line words taken apart: flags before or after positional words, "--" ends the flags.
//
//   static constexpr FlagSpec kFlags[] = {{"limit", "N", "stop after N entries"}};
//   absl::StatusOr<Arguments> arguments = Arguments::Parse(kFlags, words);
//   arguments->Text("limit")      // "10" of --limit=10 or --limit 10
#ifndef WINNOW_TOOLS_WINNOW_ARGUMENTS_H_
#define WINNOW_TOOLS_WINNOW_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::cli {

struct FlagSpec {
  std::string_view name;        // without the dashes
  std::string_view value_name;  // what stands for its value in help; empty: a switch
  std::string_view help;        // one line or several
  bool repeatable = false;
};

class Arguments {
 public:
  // InvalidArgument: a flag that `flags` lacks (the nearest one is suggested), a flag without its
  // value, a switch with one, or a flag given twice that is not repeatable.
  static absl::StatusOr<Arguments> Parse(std::span<const FlagSpec> flags,
                                         std::span<const std::string> words);

  bool Has(std::string_view flag) const { return values_.find(flag) != values_.end(); }
  // The value of a flag, if it was given.
  std::optional<std::string> Text(std::string_view flag) const;
  // InvalidArgument if the value is no whole number from 0 to 2^64 - 1.
  absl::StatusOr<std::optional<uint64_t>> Number(std::string_view flag) const;
  // Every value of a repeatable flag, in order.
  std::vector<std::string> All(std::string_view flag) const;

  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  absl::Status AddFlag(std::span<const FlagSpec> flags, std::string_view word,
                       std::span<const std::string> following, size_t* words_used);

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positionals_;
};

// The candidate that `word` was most likely meant to be; empty if none is near.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_ARGUMENTS_H_
