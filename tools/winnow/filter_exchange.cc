// winnow filter merge and convert: several filters into one, and to and from Java.
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/report_file.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/filter_file.h"

namespace winnow::cli {
namespace {

template <typename Filter>
inline constexpr bool kCanUnite =
    !std::is_same_v<Filter, BlockFilter> && !std::is_same_v<Filter, filter::ScalableBloomFilter> &&
    !std::is_same_v<Filter, filter::RedisBloomFilter> &&
    !std::is_same_v<Filter, filter::RedisBloomCuckooFilter>;

// Adds the keys of `other` to `*file`.
absl::Status Merge(const FilterFile& other, FilterFile* file) {
  return std::visit(
      [&](auto& filter) -> absl::Status {
        using Filter = std::decay_t<decltype(filter)>;
        if constexpr (kCanUnite<Filter>) {
          const auto* same_kind = std::get_if<Filter>(&other.filter);
          if (same_kind == nullptr) {
            return absl::FailedPreconditionError("the filters are of different kinds");
          }
          const absl::Status united = filter.Union(*same_kind);
          // The files are at fault, not the command line.
          return united.ok() ? united : absl::FailedPreconditionError(united.message());
        } else {
          return absl::FailedPreconditionError(
              "a filter of this kind cannot be merged: it is made for its own keys; build one from "
              "all keys, or build filters that can be with --capacity=N");
        }
      },
      file->filter);
}

// The bytes of a filter that is no block, in Winnow's form or, for Guava's own, in Guava's.
absl::StatusOr<std::string> BytesOf(const FilterFile& file, bool as_guava) {
  return std::visit(
      [&](const auto& filter) -> absl::StatusOr<std::string> {
        using Filter = std::decay_t<decltype(filter)>;
        if constexpr (std::is_same_v<Filter, filter::GuavaBloomFilter>) {
          return as_guava ? filter.WriteTo() : filter.Serialize();
        } else if constexpr (std::is_same_v<Filter, BlockFilter>) {
          return absl::FailedPreconditionError("it is in Winnow's form already");
        } else {
          return filter.Serialize();
        }
      },
      file.filter);
}

absl::StatusOr<ExitCode> RunMerge(const Arguments& arguments, Output& output) {
  const std::optional<std::string> out = arguments.Text("out");
  if (!out.has_value() || out->empty()) {
    return absl::InvalidArgumentError("say where the merged filter goes: --out=FILE");
  }
  const std::vector<std::string>& paths = arguments.positionals();
  WINNOW_ASSIGN_OR_RETURN(FilterFile merged, ReadFilterFile(paths[0]));
  for (size_t i = 1; i < paths.size(); ++i) {
    WINNOW_ASSIGN_OR_RETURN(const FilterFile other, ReadFilterFile(paths[i]));
    const absl::Status status = Merge(other, &merged);
    if (!status.ok()) return WithContext(status, absl::StrCat(paths[0], " and ", paths[i]));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string bytes, BytesOf(merged, merged.format == "guava"));
  WINNOW_RETURN_IF_ERROR(report::WriteWholeFile(*out, bytes));
  return PrintDone(arguments, Json{{"file", *out}, {"merged", paths.size()}}, output);
}

absl::StatusOr<ExitCode> RunConvert(const Arguments& arguments, Output& output) {
  const std::string to = arguments.Text("to").value_or("");
  if (to != "guava" && to != "winnow") {
    return absl::InvalidArgumentError("say into which form: --to=guava or --to=winnow");
  }
  const std::string& in = arguments.positionals()[0];
  const std::string& out = arguments.positionals()[1];
  WINNOW_ASSIGN_OR_RETURN(const FilterFile file, ReadFilterFile(in));
  if (!std::holds_alternative<filter::GuavaBloomFilter>(file.filter)) {
    return absl::FailedPreconditionError(
        absl::StrCat(in,
                     ": it was not made for Java, which hashes keys in its own way; build it with "
                     "--filter=bloom:1%:murmur128_mitz_64"));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string bytes, BytesOf(file, to == "guava"));
  WINNOW_RETURN_IF_ERROR(report::WriteWholeFile(out, bytes));
  return PrintDone(arguments, Json{{"file", out}, {"file_bytes", bytes.size()}}, output);
}

}  // namespace

Command FilterMergeCommand() {
  return {
      .name = "filter merge",
      .positionals = {"FILE FILE...", 2, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "make one filter that holds the keys of several",
      .details = R"(
The filters must have been built with the same --filter, --capacity and --seed. The capacity
should be that of all keys together: the rate rises beyond it, and a cuckoo filter is full.)",
      .json = R"({"file":F,"merged":N})",
      .examples = R"(
  winnow filter build --filter=bloom:1% --capacity=1e6 --out=a.filter a.txt
  winnow filter build --filter=bloom:1% --capacity=1e6 --out=b.filter b.txt
  winnow filter merge --out=both.filter a.filter b.filter)",
      .flags = {{"out", "FILE", "where the merged filter goes; an older one is replaced"}},
      .run = RunMerge,
  };
}

Command FilterConvertCommand() {
  return {
      .name = "filter convert",
      .positionals = {"IN OUT", 2, 2},
      .database = DatabaseUse::kNone,
      .summary = "exchange Bloom filters with Java: the bytes of Guava's BloomFilter.writeTo",
      .details = R"(
--to=guava writes the bytes that BloomFilter.readFrom takes, with Funnels.byteArrayFunnel() or
a UTF-8 string funnel: the keys' bytes are then the same. Only filters that were built with
the word murmur128_mitz_64 or murmur128_mitz_32 can be exported. --to=winnow puts such bytes
into Winnow's form, which has a checksum. query, info and merge read both forms.)",
      .json = R"({"file":F,"file_bytes":N})",
      .examples = R"(
  winnow filter build --filter=bloom:1%:murmur128_mitz_64 --out=users.filter users.txt
  winnow filter convert --to=guava users.filter users.guava
  winnow filter convert --to=winnow from_java.guava from_java.filter)",
      .flags = {{"to", "FORM", "guava or winnow"}},
      .run = RunConvert,
  };
}

}  // namespace winnow::cli
