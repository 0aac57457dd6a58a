// winnow filter build: a filter from keys, one per line.
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/report/report_file.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/filter_file.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/record_reader.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/sizing.h"

namespace winnow::cli {
namespace {

struct Built {
  std::string bytes;
  std::string kind;
  double expected_fpr = 0;
  bool fell_back = false;
};

// Takes keys, then gives the file's bytes.
class FilterMaker {
 public:
  virtual ~FilterMaker() = default;
  virtual absl::Status Add(std::string_view key) = 0;
  virtual absl::StatusOr<Built> Finish() = 0;
};

// A filter block: keeps hashes until the end, and is exactly as large as they need.
class BlockMaker : public FilterMaker {
 public:
  BlockMaker(std::unique_ptr<filter::FilterBuilder> builder, uint64_t seed)
      : builder_(std::move(builder)), seed_(seed) {}

  absl::Status Add(std::string_view key) override {
    builder_->Add(filter::HashKey(key, seed_));
    return absl::OkStatus();
  }
  absl::StatusOr<Built> Finish() override {
    filter::BuiltFilter built = builder_->Finish();
    if (built.block.empty()) {
      return absl::InternalError("no filter could be built that finds all keys; is memory faulty?");
    }
    return Built{std::move(built.block), std::string(filter::KindName(built.kind)),
                 built.expected_fpr, built.fell_back};
  }

 private:
  std::unique_ptr<filter::FilterBuilder> builder_;
  const uint64_t seed_;
};

// An application filter, which is as large as its capacity needs.
template <typename Filter>
class SavedMaker : public FilterMaker {
 public:
  SavedMaker(Filter filter, std::string kind) : filter_(std::move(filter)), kind_(kind) {}

  absl::Status Add(std::string_view key) override {
    if constexpr (std::is_same_v<Filter, filter::CuckooFilter>) {
      absl::Status added = filter_.AddIfAbsent(key);
      return added.ok() ? added : WithContext(added, "give a larger --capacity");
    } else {
      filter_.Add(key);
      return absl::OkStatus();
    }
  }
  absl::StatusOr<Built> Finish() override {
    return Built{filter_.Serialize(), kind_, filter_.ExpectedFpr(), false};
  }

 private:
  Filter filter_;
  const std::string kind_;
};

// Guava's filter without a capacity: keeps hashes until their number is known.
class GuavaMaker : public FilterMaker {
 public:
  explicit GuavaMaker(filter::GuavaBloomSpec spec) : spec_(std::move(spec)) {}

  absl::Status Add(std::string_view key) override {
    hashes_.push_back(filter::HashGuavaKey(key));
    return absl::OkStatus();
  }
  absl::StatusOr<Built> Finish() override {
    WINNOW_ASSIGN_OR_RETURN(filter::GuavaBloomFilter guava,
                            filter::GuavaBloomFilter::Create(static_cast<int64_t>(hashes_.size()),
                                                             spec_.fpr, spec_.strategy));
    for (const filter::GuavaHash& hash : hashes_) guava.AddHash(hash);
    return Built{guava.Serialize(), "bloom", guava.ExpectedFpr(), false};
  }

 private:
  const filter::GuavaBloomSpec spec_;
  std::vector<filter::GuavaHash> hashes_;
};

template <typename Filter>
absl::StatusOr<std::unique_ptr<FilterMaker>> MakeSaved(absl::StatusOr<Filter> filter,
                                                       std::string_view kind) {
  if (!filter.ok()) return filter.status();
  return std::make_unique<SavedMaker<Filter>>(*std::move(filter), std::string(kind));
}

absl::StatusOr<std::unique_ptr<FilterMaker>> MakeWithCapacity(const filter::FilterSpec& spec,
                                                              uint64_t capacity, uint64_t seed) {
  if (!spec.words.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--filter: ", spec.words.front(),
                                                   " is for filters that no key is added to "
                                                   "later: leave it or --capacity out"));
  }
  const double fpr =
      spec.fpr != 0 ? spec.fpr : filter::ExpectedFpr(spec, filter::SpecBitsPerKey(spec), capacity);
  switch (spec.kind) {
    case filter::FilterKind::kBloom:
      return MakeSaved(filter::BloomFilter::Create(capacity, fpr, seed), "bloom");
    case filter::FilterKind::kBlockedBloom:
      return MakeSaved(filter::BlockedBloomFilter::Create(capacity, fpr, seed), "blocked_bloom");
    case filter::FilterKind::kCuckoo:
      return MakeSaved(filter::CuckooFilter::Create(capacity, fpr, seed), "cuckoo");
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("--capacity is for filters that can grow and merge: bloom, blocked_bloom, "
                       "cuckoo, not ",
                       ToAbsl(filter::KindName(spec.kind))));
  }
}

absl::StatusOr<std::unique_ptr<FilterMaker>> MakeFromArguments(const Arguments& arguments) {
  const std::optional<std::string> text = arguments.Text("filter");
  if (!text.has_value()) {
    return absl::InvalidArgumentError("say which filter: --filter=SPEC, such as bloom:1%");
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> seed, arguments.Number("seed"));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> capacity, CountOf(arguments, "capacity"));
  WINNOW_ASSIGN_OR_RETURN(std::optional<filter::GuavaBloomSpec> guava,
                          filter::ParseGuavaBloomSpec(*text));
  if (guava.has_value()) {
    if (seed.has_value()) {
      return absl::InvalidArgumentError("Guava's filters have no seed: leave --seed out");
    }
    if (!capacity.has_value()) return std::make_unique<GuavaMaker>(*std::move(guava));
    return MakeSaved(filter::GuavaBloomFilter::Create(static_cast<int64_t>(*capacity), guava->fpr,
                                                      guava->strategy),
                     "bloom");
  }
  WINNOW_ASSIGN_OR_RETURN(const filter::FilterSpec spec, filter::ParseFilterSpec(*text));
  if (spec.kind == filter::FilterKind::kNone) {
    return absl::InvalidArgumentError("--filter=none: there is nothing to build");
  }
  if (spec.range_bits != 0) {
    return absl::InvalidArgumentError(
        "--filter: range filters stand in SSTables alone: leave out what is behind '+'");
  }
  if (capacity.has_value()) return MakeWithCapacity(spec, *capacity, seed.value_or(0));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<filter::FilterBuilder> builder,
                          filter::FilterBuilder::Create(spec, seed.value_or(0)));
  return std::make_unique<BlockMaker>(std::move(builder), seed.value_or(0));
}

absl::Status AddLine(std::string_view line, TextForm form, FilterMaker* maker) {
  if (form == TextForm::kRaw) return maker->Add(line);
  WINNOW_ASSIGN_OR_RETURN(const std::string key, FromInputText(line, form));
  return maker->Add(key);
}

// Adds every line of every input; gives how many there were.
absl::StatusOr<uint64_t> AddLines(const std::vector<InputFile>& inputs, TextForm form,
                                  Progress* progress, FilterMaker* maker) {
  uint64_t num_keys = 0;
  uint64_t finished_bytes = 0;
  for (const InputFile& input : inputs) {
    LineReader lines(input.descriptor(), input.name());
    const auto add = [&](std::string_view line) -> absl::Status {
      WINNOW_RETURN_IF_ERROR(lines.InContext(AddLine(line, form, maker)));
      ++num_keys;
      progress->Update(num_keys, finished_bytes + lines.bytes_read());
      return absl::OkStatus();
    };
    WINNOW_RETURN_IF_ERROR(lines.ForEach(add));
    finished_bytes += lines.bytes_read();
  }
  return num_keys;
}

absl::StatusOr<ExitCode> RunBuild(const Arguments& arguments, Output& output) {
  const std::optional<std::string> path = arguments.Text("out");
  if (!path.has_value() || path->empty()) {
    return absl::InvalidArgumentError("say where the filter goes: --out=FILE");
  }
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FilterMaker> maker, MakeFromArguments(arguments));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> inputs, OpenInputs(arguments.positionals()));
  Progress progress(TotalBytes(inputs), {.things = "keys"});
  const TextForm form = arguments.Has("hex") ? TextForm::kHex : TextForm::kRaw;
  absl::StatusOr<uint64_t> num_keys = AddLines(inputs, form, &progress, maker.get());
  progress.Clear();
  if (!num_keys.ok()) return num_keys.status();
  WINNOW_ASSIGN_OR_RETURN(const Built built, maker->Finish());
  WINNOW_RETURN_IF_ERROR(report::WriteWholeFile(*path, built.bytes));

  const double bits_per_key =
      *num_keys == 0 ? 0
                     : static_cast<double>(built.bytes.size()) * 8 / static_cast<double>(*num_keys);
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"file", *path},
                             {"kind", built.kind},
                             {"keys", *num_keys},
                             {"file_bytes", built.bytes.size()},
                             {"file_bits_per_key", bits_per_key},
                             {"expected_fpr", built.expected_fpr},
                             {"fell_back", built.fell_back},
                             {"seconds", progress.seconds()}}));
    return ExitCode::kOk;
  }
  Complain(
      "filter build",
      absl::StrFormat("%s: %s of %s, %s, %.2f bits per key, expected rate %.4g %%, in %s%s", *path,
                      built.kind, report::HumanCount(*num_keys, "key", "keys"),
                      report::HumanBytes(static_cast<double>(built.bytes.size())), bits_per_key,
                      100 * built.expected_fpr, report::HumanSeconds(progress.seconds()),
                      built.fell_back ? "; the wanted kind could not be built" : ""));
  return ExitCode::kOk;
}

}  // namespace

Command FilterBuildCommand() {
  return {
      .name = "filter build",
      .positionals = {"[KEYFILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "build a filter from keys, one per line",
      .details = R"(
Reads keys from the files, or from standard input: every line is a key, the empty one too,
and every byte of it counts. A filter block is built, as SSTables have them, exactly as large
as the keys need; it cannot be changed later. With --capacity a filter for applications is
built instead, which can be merged with others of the same capacity (bloom, blocked_bloom
and cuckoo). A bloom filter with the word murmur128_mitz_64 or murmur128_mitz_32 can be
exported to Java (winnow filter convert), and merged if its capacity was given.
The total is reported on standard error.)",
      .json = R"(
{"file":F,"kind":NAME,"keys":N,"file_bytes":N,"file_bits_per_key":R,"expected_fpr":R,
"fell_back":B,"seconds":S})",
      .examples = R"(
  winnow filter build --filter=binary_fuse:1% --out=words.filter /usr/share/dict/words
  cut -f1 users.tsv | winnow filter build --filter=cuckoo:0.1% --out=users.filter
  winnow filter build --filter=bloom:1%:murmur128_mitz_64 --out=java.filter users.txt)",
      .flags = {{"filter", "SPEC", "KIND:BITS or KIND:RATE%, as blocked_bloom:10, cuckoo:0.1%"},
                {"out", "FILE", "where the filter goes; an older one is replaced"},
                {"capacity", "N", "leave room for N keys, 1e6 or 1000000; can be merged"},
                {"seed", "N", "seed of the keys' hash (default: 0)"},
                {"hex", "", "lines are keys as hexadecimal digits"}},
      .run = RunBuild,
  };
}

}  // namespace winnow::cli
