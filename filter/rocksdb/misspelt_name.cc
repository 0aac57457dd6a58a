#include "filter/rocksdb/misspelt_name.h"

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "filter/base/shown_text.h"
#include "filter/rocksdb/filter_policy.h"
#include "filter/rocksdb/policy_spec.h"

namespace winnow::filter::internal {
namespace {

constexpr std::string_view kSeparators = ".:_-/ ";

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// What follows "winnow" in any case and one separator; the whole name if it begins otherwise.
std::string_view WithoutPrefix(std::string_view name) {
  const std::string_view word = kPolicyNamePrefix.substr(0, kPolicyNamePrefix.size() - 1);
  if (!absl::StartsWithIgnoreCase(ToAbsl(name), ToAbsl(word))) return name;
  name.remove_prefix(word.size());
  if (!name.empty() && kSeparators.find(name.front()) != std::string_view::npos) {
    name.remove_prefix(1);
  }
  return name;
}

}  // namespace

// The name may be any bytes of an options file: it is shown escaped. If what is left of it, in
// lower case and without its beginning, is a spec, that is what was meant.
std::string AdviceOnMisspeltName(std::string_view name) {
  const std::string spec = absl::AsciiStrToLower(ToAbsl(WithoutPrefix(name)));
  const std::string about =
      absl::StrCat("filter policy '", absl::CHexEscape(ShownText(name)), "': ");
  if (ParsePolicySpec(spec).ok()) {
    return absl::StrCat(about, "did you mean '", ToAbsl(kPolicyNamePrefix), spec, "'?");
  }
  return absl::StrCat(about,
                      "did you mean one of ours? Their names are 'winnow.', a kind and an "
                      "amount, such as 'winnow.blocked_bloom:10' or 'winnow.ribbon:1%'");
}

}  // namespace winnow::filter::internal
