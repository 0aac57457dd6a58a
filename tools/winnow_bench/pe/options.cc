#include "tools/winnow_bench/pe/options.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "tools/flags/arguments.h"
#include "tools/flags/nearest_name.h"
#include "tools/winnow_bench/pe/commands.h"
#include "tools/winnow_bench/pe/store.h"

namespace winnow::bench::pe {
namespace {

constexpr uint64_t kRowsOfGibibyte = 1'048'576;
constexpr uint32_t kMaxClients = 500;

// Flags of PerformanceEvaluation that mean something to a cluster alone.
constexpr std::string_view kIgnoredValues[] = {
    "connCount",  "blockEncoding",      "traceRate",     "period",
    "presplit",   "splitPolicy",        "replicas",      "inmemory",
    "encryption", "autoFlush",          "usetags",       "numoftags",
    "caching",    "cacheBlocks",        "asyncPrefetch", "scanReadType",
    "bufferSize", "inmemoryCompaction", "oneCon",        "latencyThreshold"};

struct PeFlag {
  cli::FlagSpec spec;
  std::function<absl::Status(const std::string& text, PeOptions* options)> set;
};

absl::Status Wrong(std::string_view flag, const std::string& text, std::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", ToAbsl(flag), "=", text, ": not ", ToAbsl(wanted)));
}

PeFlag CountFlag(std::string_view name, std::string_view help, uint64_t PeOptions::*target,
                 uint64_t min, uint64_t max) {
  return {{name, "N", help, true}, [=](const std::string& text, PeOptions* options) {
            uint64_t number = 0;
            if (!absl::SimpleAtoi(text, &number) || number < min || number > max) {
              return Wrong(name, text, absl::StrCat("a whole number from ", min, " to ", max));
            }
            options->*target = number;
            return absl::OkStatus();
          }};
}

PeFlag RealFlag(std::string_view name, std::string_view help, double PeOptions::*target,
                double max) {
  return {{name, "X", help, true}, [=](const std::string& text, PeOptions* options) {
            double number = 0;
            if (!absl::SimpleAtod(text, &number) || !(number > 0) || number > max) {
              return Wrong(name, text, absl::StrCat("a number above 0, to ", max));
            }
            options->*target = number;
            return absl::OkStatus();
          }};
}

PeFlag BooleanFlag(std::string_view name, std::string_view help, bool PeOptions::*target) {
  return {{name, "BOOL", help, true}, [=](const std::string& text, PeOptions* options) {
            bool value = false;
            if (!absl::SimpleAtob(text, &value)) return Wrong(name, text, "true or false");
            options->*target = value;
            return absl::OkStatus();
          }};
}

PeFlag SwitchFlag(std::string_view name, std::string_view help, bool PeOptions::*target) {
  return {{name, "", help, true}, [=](const std::string&, PeOptions* options) {
            options->*target = true;
            return absl::OkStatus();
          }};
}

PeFlag TextFlag(std::string_view name, std::string_view value, std::string_view help,
                std::string PeOptions::*target) {
  return {{name, value, help, true}, [=](const std::string& text, PeOptions* options) {
            options->*target = text;
            return absl::OkStatus();
          }};
}

absl::Status SetEngines(const std::string& text, PeOptions* options) {
  options->engines = absl::StrSplit(text, ',');
  for (const std::string& engine : options->engines) {
    if (FindRowStore(engine) != nullptr) continue;
    std::vector<std::string_view> names;
    for (const RowStoreFactory* store : RowStores()) names.push_back(store->name);
    return absl::InvalidArgumentError(
        absl::StrCat("--engine: no engine '", engine, "'", cli::DidYouMean(engine, names)));
  }
  return absl::OkStatus();
}

absl::Status SetAbsent(const std::string& text, PeOptions* options) {
  if (text != "row" && text != "column") return Wrong("absent", text, "row or column");
  options->absent = text == "row" ? Absent::kRow : Absent::kColumn;
  return absl::OkStatus();
}

absl::Status SetCompression(const std::string& text, PeOptions* options) {
  options->compression = absl::AsciiStrToLower(text);
  const bool is_known = options->compression == "none" || options->compression == "snappy" ||
                        options->compression == "lz4" || options->compression == "zstd";
  return is_known ? absl::OkStatus() : Wrong("compress", text, "NONE, SNAPPY, LZ4 or ZSTD");
}

std::vector<PeFlag> PeFlags() {
  constexpr uint64_t kMany = 1'000'000'000'000;
  return {
      CountFlag("rows", "rows of each client (default: 1048576)", &PeOptions::rows, 1, kMany),
      RealFlag("size",
               "GiB of all clients' rows instead; with --rows, reads ask for so many\n"
               "rows of them",
               &PeOptions::size_gib, 1e6),
      CountFlag("valueSize", "bytes of a value (default: 1000)", &PeOptions::value_bytes, 0,
                10'000'000),
      SwitchFlag("valueRandom", "values have 0 to valueSize bytes", &PeOptions::random_value_size),
      CountFlag("columns", "columns of a family (default: 1)", &PeOptions::columns, 1, 100'000),
      CountFlag("families", "families of the table (default: 1)", &PeOptions::families, 1, 100),
      TextFlag("table", "NAME", "the table's name (default: TestTable)", &PeOptions::table),
      TextFlag("bloomFilter", "TYPE", "ROW (default), ROWCOL, NONE, ROWPREFIX_FIXED_LENGTH:N",
               &PeOptions::bloom_filter),
      TextFlag("filter", "SPEC", "kind and size of filters (default: blocked_bloom:10)",
               &PeOptions::filter),
      {{"compress", "TYPE", "NONE (default), SNAPPY, LZ4, ZSTD", true}, SetCompression},
      CountFlag("blockSize", "bytes of a data block (default: 4096)", &PeOptions::block_bytes, 256,
                1 << 24),
      CountFlag("cacheSize", "bytes of the block cache (default: 64 MiB)", &PeOptions::cache_bytes,
                0, uint64_t{1} << 50),
      CountFlag("writeBuffer", "bytes of a memtable (default: 64 MiB)",
                &PeOptions::write_buffer_bytes, 1 << 16, uint64_t{1} << 40),
      BooleanFlag("writeToWAL", "log what is written (default: true)", &PeOptions::write_to_wal),
      BooleanFlag("flushCommits", "flush at the end (default: false)", &PeOptions::flush),
      BooleanFlag("addColumns", "reads name their columns (default: true)",
                  &PeOptions::add_columns),
      CountFlag("multiGet", "randomRead: rows a call (default: one)", &PeOptions::multi_get, 0,
                100'000),
      CountFlag("multiPut", "writes: rows a call (default: one)", &PeOptions::multi_put, 0,
                100'000),
      RealFlag("sampleRate", "the share of the rows that is run (default: 1)",
               &PeOptions::sample_rate, 1),
      CountFlag("cycles", "times to run (default: 1)", &PeOptions::cycles, 1, 1'000'000),
      CountFlag("startRow", "the first client's first row (default: 0)", &PeOptions::start_row, 0,
                kMany),
      CountFlag("measureAfter", "rows before latencies count (default: 0)",
                &PeOptions::measure_after, 0, kMany),
      SwitchFlag("latency", "report how long operations took", &PeOptions::latency),
      {{"absent", "WHAT", "reads ask for rows or columns that are not there: row, column", true},
       SetAbsent},
      CountFlag("seed", "of random rows and values (default: 0)", &PeOptions::seed, 0, UINT64_MAX),
      {{"engine", "NAMES", "one or several of the engines below (default: tables)", true},
       SetEngines},
      TextFlag("db", "DIR",
               "the databases' directory; kept, so that reads find what was\n"
               "written (default: winnow_bench-pe-<user id> in $TMPDIR or /tmp)",
               &PeOptions::directory),
      TextFlag("json", "FILE", "write the results there, too", &PeOptions::json),
      SwitchFlag("help", "print this text", &PeOptions::help),
  };
}

absl::Status Check(const PeOptions& options) {
  const PeCommand& command = *FindPeCommand(options.command);
  if (options.absent != Absent::kNothing && command.action != Action::kRead) {
    return absl::InvalidArgumentError("--absent goes with sequentialRead and randomRead");
  }
  if (options.absent == Absent::kColumn && !options.add_columns) {
    return absl::InvalidArgumentError("--absent=column needs --addColumns=true");
  }
  if (options.multi_get > 1 && command.action != Action::kRead) {
    return absl::InvalidArgumentError("--multiGet goes with reads");
  }
  if (options.multi_put > 1 && command.action != Action::kWrite) {
    return absl::InvalidArgumentError("--multiPut goes with writes");
  }
  return absl::OkStatus();
}

absl::Status TakeCommand(const std::vector<std::string>& words, PeOptions* options) {
  if (words.size() != 2) {
    return absl::InvalidArgumentError(
        "name a command and the number of clients, as `winnow_bench pe randomRead 1`; --help "
        "shows the commands");
  }
  options->command = words[0];
  if (FindPeCommand(words[0]) == nullptr) {
    std::vector<std::string_view> names;
    for (const PeCommand& command : PeCommands()) names.push_back(command.name);
    return absl::InvalidArgumentError(
        absl::StrCat("no command '", words[0], "'", cli::DidYouMean(words[0], names)));
  }
  if (!absl::SimpleAtoi(words[1], &options->clients) || options->clients < 1 ||
      options->clients > kMaxClients) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", words[1], "' is no number of clients from 1 to ", kMaxClients));
  }
  return Check(*options);
}

}  // namespace

uint64_t PeOptions::total_rows() const {
  if (size_gib == 0) return rows * clients;
  return std::max<uint64_t>(1, static_cast<uint64_t>(size_gib * kRowsOfGibibyte));
}

absl::StatusOr<PeOptions> ParsePeOptions(std::span<const std::string> words) {
  const std::vector<PeFlag> flags = PeFlags();
  std::vector<cli::FlagSpec> specs;
  for (const PeFlag& flag : flags) specs.push_back(flag.spec);
  specs.push_back({"nomapred", "", "", true});
  for (const std::string_view name : kIgnoredValues) specs.push_back({name, "VALUE", "", true});
  WINNOW_ASSIGN_OR_RETURN(const cli::Arguments arguments, cli::Arguments::Parse(specs, words));
  PeOptions options;
  for (const PeFlag& flag : flags) {
    const auto text = arguments.Text(flag.spec.name);
    if (text) WINNOW_RETURN_IF_ERROR(flag.set(*text, &options));
  }
  if (options.help) return options;
  WINNOW_RETURN_IF_ERROR(TakeCommand(arguments.positionals(), &options));
  if (options.size_gib != 0 && !arguments.Has("rows")) {
    options.rows = std::max<uint64_t>(1, options.total_rows() / options.clients);
  }
  return options;
}

std::string PeHelp() {
  std::string help =
      "winnow_bench pe: HBase's PerformanceEvaluation on tables in this process.\n"
      "\n"
      "  winnow_bench pe --rows=100000 sequentialWrite 1\n"
      "  winnow_bench pe --rows=100000 randomRead 2\n"
      "  winnow_bench pe --bloomFilter=ROWCOL --absent=column --engine=tables,raw,rocksdb "
      "randomRead 1\n"
      "\n"
      "Usage: winnow_bench pe [flags] COMMAND CLIENTS\n"
      "\n"
      "Rows are numbers of 26 digits; CLIENTS are threads, each with --rows of them. A command "
      "that\n"
      "reads loads the rows first where they are not there yet, compacts, and does not measure "
      "that.\n"
      "Flags of a cluster (nomapred, presplit, replicas, ...) are accepted and change nothing.\n"
      "\n"
      "Commands:\n";
  for (const PeCommand& command : PeCommands()) {
    absl::StrAppendFormat(&help, "  %-17s %s\n", ToAbsl(command.name), ToAbsl(command.description));
  }
  help += "\nEngines:\n";
  for (const RowStoreFactory* store : RowStores()) {
    absl::StrAppendFormat(&help, "  %-17s %s\n", ToAbsl(store->name), ToAbsl(store->description));
  }
  help += "\nFlags:\n";
  for (const PeFlag& flag : PeFlags()) {
    std::string left = absl::StrCat("--", ToAbsl(flag.spec.name));
    if (!flag.spec.value_name.empty()) absl::StrAppend(&left, "=", ToAbsl(flag.spec.value_name));
    for (const absl::string_view line : absl::StrSplit(ToAbsl(flag.spec.help), '\n')) {
      absl::StrAppendFormat(&help, "  %-20s %s\n", left, line);
      left.clear();
    }
  }
  return help;
}

}  // namespace winnow::bench::pe
