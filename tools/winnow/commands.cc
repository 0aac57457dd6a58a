#include "tools/winnow/commands.h"

#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/base/status.h"

namespace winnow::cli {
namespace {

constexpr FlagSpec kDatabaseFlag = {"db", "DIR", "the database's directory"};
constexpr FlagSpec kHexFlag = {"hex", "", "keys and values as hexadecimal digits, in and out"};

const std::vector<FlagSpec> kOpenFlags = {
    {"family", "NAME", "the column family (default: default)"},
    {"set", "NAME=VALUE",
     "an option of the store, as --set=block_cache_bytes=1G; repeatable;\n`winnow options` lists "
     "them",
     /*repeatable=*/true}};

const std::vector<FlagSpec> kFilterFlags = {
    {"filter", "SPEC",
     "filter of SSTables written from now on: KIND[:BITS or :RATE%], as\n"
     "blocked_bloom:10, cuckoo:0.1%, none (default: as before; blocked_bloom:10\n"
     "for a new family)"},
    {"filter-key", "PART",
     "part of the key that filters know: whole, prefix:N, delimiter:C[:K],\n"
     "component:K, or several, as whole+prefix:8: look-ups ask for the first,\n"
     "scans for prefixes (default: as before; whole for a new family)"}};

const std::vector<FlagSpec> kOutputFlags = {{"json", "", "print JSON for machines"},
                                            {"help", "", "print this text"}};

void Add(std::vector<FlagSpec>* flags, const std::vector<FlagSpec>& more) {
  flags->insert(flags->end(), more.begin(), more.end());
}

bool IsVerb(std::string_view name) { return name.find(' ') != std::string_view::npos; }

std::string FlagLines(const std::vector<FlagSpec>& flags) {
  std::string lines;
  for (const FlagSpec& flag : flags) {
    std::string left = FlagAsWritten(flag);
    for (const absl::string_view help : absl::StrSplit(ToAbsl(flag.help), '\n')) {
      absl::StrAppendFormat(&lines, "  %-20s %s\n", left, help);
      left.clear();
    }
  }
  return lines;
}

// A text of several lines, which begins on the line below its opening parenthesis.
absl::string_view Block(std::string_view text) { return absl::StripPrefix(ToAbsl(text), "\n"); }

constexpr absl::string_view kExitCodes =
    "Exit codes:\n"
    "  0  done\n"
    "  1  the key is absent (get, mget, has, explain, filter query, redis query; of table: get,\n"
    "     get_counter, explain, exists), a condition does not hold (transact), damage was found\n"
    "     (verify, backup --list, --verify), or the user said no (destroy)\n"
    "  2  the command line is wrong: unknown command or flag, bad value, KEY over the limit\n"
    "  3  anything else: no such database, locked by another process, damaged, disk full,\n"
    "     a bad line of an input file\n";

}  // namespace

const std::vector<Command>& AllCommands() {
  static const std::vector<Command>* const commands = new std::vector<Command>{
      LoadCommand(),       SstBuildCommand(),    IngestCommand(),        ImportCommand(),
      ExportCommand(),     GetCommand(),         MultiGetCommand(),      HasCommand(),
      PutCommand(),        MergeCommand(),       DeleteCommand(),        TransactCommand(),
      ScanCommand(),       CountCommand(),       ExplainCommand(),       StatsCommand(),
      PlanCommand(),       PropertyCommand(),    OptionsCommand(),       CompactCommand(),
      RefilterCommand(),   CompareCommand(),     TraceCommand(),         FamiliesCommand(),
      TableCommand(),      ShellCommand(),       VerifyCommand(),        RepairCommand(),
      ReplayCommand(),     CheckpointCommand(),  BackupCommand(),        RestoreCommand(),
      DestroyCommand(),    SstCommand(),         WalCommand(),           ManifestCommand(),
      FilterCommand(),     FilterPlanCommand(),  FilterBuildCommand(),   FilterQueryCommand(),
      FilterInfoCommand(), FilterMergeCommand(), FilterConvertCommand(), FilterBenchCommand(),
#ifdef WINNOW_CLI_REDIS
      RedisCommand(),      RedisCreateCommand(), RedisInfoCommand(),     RedisAddCommand(),
      RedisQueryCommand(), RedisDumpCommand(),   RedisLoadCommand(),     RedisRebuildCommand(),
#endif
  };
  return *commands;
}

std::vector<FlagSpec> FlagsOf(const Command& command) {
  std::vector<FlagSpec> flags = command.flags;
  const DatabaseUse use = command.database;
  if (use != DatabaseUse::kNone) Add(&flags, {kDatabaseFlag, kHexFlag});
  if (use == DatabaseUse::kRead || use == DatabaseUse::kWrite) Add(&flags, kOpenFlags);
  if (use == DatabaseUse::kWrite) Add(&flags, kFilterFlags);
  Add(&flags, kOutputFlags);
  return flags;
}

std::string ProgramHelp() {
  std::string help =
      "winnow reads and writes Winnow databases: load keys and values from text, look them up,\n"
      "see what the filters saved, look into the files, check every byte.\n"
      "\n"
      "  printf 'apple\\tred\\nplum\\tblue\\n' | winnow load --db=/tmp/fruit\n"
      "  winnow get --db=/tmp/fruit apple\n"
      "  winnow explain --db=/tmp/fruit cherry\n"
      "\n"
      "Usage: winnow COMMAND [flags] [arguments]\n"
      "\n"
      "Commands:\n";
  for (const Command& command : AllCommands()) {
    if (IsVerb(command.name)) continue;  // listed by its noun
    absl::StrAppendFormat(&help, "  %-10s %s\n", ToAbsl(command.name), ToAbsl(command.summary));
  }
  absl::StrAppend(
      &help,
      "\n"
      "`winnow COMMAND --help` explains each. Flags may stand before or after arguments;\n"
      "-- ends them. Only load, ingest, import, put, merge, transact, families create, table "
      "create\n"
      "and create in the shell make a missing database.\n"
      "Commands that read take no lock and may run beside the program that writes.\n"
      "\n",
      kExitCodes);
  return help;
}

std::string CommandHelp(const Command& command) {
  std::string help =
      absl::StrCat("winnow ", ToAbsl(command.name), ": ", ToAbsl(command.summary), "\n\n",
                   Block(command.examples), "\n\nUsage: winnow ", ToAbsl(command.name), " [flags]");
  const std::string_view positionals = command.positionals.text;
  if (!positionals.empty()) absl::StrAppend(&help, " ", ToAbsl(positionals));
  absl::StrAppend(&help, "\n\n");
  if (!command.details.empty()) absl::StrAppend(&help, Block(command.details), "\n\n");
  absl::StrAppend(&help, "Flags:\n", FlagLines(FlagsOf(command)),
                  "\nWith --json: ", Block(command.json), "\n");
  // There a K stands for a key's bytes.
  if (command.json.find(":K") != std::string_view::npos) {
    help +=
        "Keys and values that are not UTF-8, and all of them with --hex, are in key_hex and "
        "value_hex.\n";
  }
  absl::StrAppend(&help, "\n", kExitCodes);
  return help;
}

}  // namespace winnow::cli
