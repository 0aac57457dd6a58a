#include "tools/winnow/fields.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "tools/report/amount_text.h"

namespace winnow::cli {
namespace {

constexpr size_t kMinNameWidth = 18;

std::string FieldText(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() && absl::EndsWith(name, "fpr")) {
    return absl::StrFormat("%.4g %%", 100 * value.get<double>());
  }
  if (value.is_number_float()) return absl::StrFormat("%.4g", value.get<double>());
  if (!value.is_number_integer() || value.get<int64_t>() < 0) return value.dump();
  const auto count = value.get<uint64_t>();
  if (!absl::EndsWith(name, "bytes")) return report::HumanCount(count);
  const std::string exact = report::HumanCount(count, "byte", "bytes");
  return count < 1024
             ? exact
             : absl::StrFormat("%s (%s)", report::HumanBytes(static_cast<double>(count)), exact);
}

}  // namespace

void PrintFields(const Json& object, std::string_view indent, Output& output) {
  size_t width = kMinNameWidth;
  for (const auto& [name, value] : object.items()) width = std::max(width, name.size());
  for (const auto& [name, value] : object.items()) {
    output.Line(absl::StrFormat("%s%-*s %s", indent, width, name, FieldText(name, value)));
  }
}

}  // namespace winnow::cli
