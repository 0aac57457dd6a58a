#include "tools/winnow/answer.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::cli {

ExitCode PrintAnswer(const Arguments& arguments, const Json& json, std::string_view text,
                     Output& output) {
  if (arguments.Has("json")) return PrintDone(arguments, json, output);
  output.Line(text);
  return ExitCode::kOk;
}

ExitCode PrintDone(const Arguments& arguments, const Json& json, Output& output) {
  if (arguments.Has("json")) output.Write(ToLine(json));
  return ExitCode::kOk;
}

ExitCode PrintDone(const Arguments& arguments, Output& output) {
  return PrintDone(arguments, Json{{"ok", true}}, output);
}

TextForm PrintedForm(const Arguments& arguments) {
  return arguments.Has("hex") ? TextForm::kHex : TextForm::kEscaped;
}

absl::StatusOr<TextForm> FormOfFlags(const Arguments& arguments) {
  std::string_view given;
  for (const std::string_view flag : {"raw", "hex", "escaped"}) {
    if (!arguments.Has(flag)) continue;
    if (!given.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("give --", ToAbsl(given), " or --", ToAbsl(flag), ", not both"));
    }
    given = flag;
  }
  return given == "raw" ? TextForm::kRaw : PrintedForm(arguments);
}

void PrintPair(std::string_view key, std::string_view value, const PairFormat& format,
               Output& output) {
  if (format.json) {
    const bool hex = format.form == TextForm::kHex;
    Json json = Json::object();
    AddBytes(&json, "key", key, hex);
    if (!format.keys_only) AddBytes(&json, "value", value, hex);
    output.Write(ToLine(json));
    return;
  }
  std::string line;
  AppendText(&line, key, format.form);
  if (!format.keys_only) {
    line.push_back('\t');
    AppendText(&line, value, format.form);
  }
  output.Line(line);
}

}  // namespace winnow::cli
