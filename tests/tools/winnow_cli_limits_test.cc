// The winnow program where memory, threads or descriptors run out: an error and an exit code, never
// a signal.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/winnow_cli_shell.h"

namespace winnow {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // shadow memory is address space, too
#else
constexpr bool kSanitized = false;
#endif

// Most commands, in an order in which each finds what it needs.
const std::vector<std::string> kCommands = {
    "load --db=new lines.tsv",
    "load --db=db lines.tsv",
    "put a b --db=db",
    "get a --db=db",
    "scan --db=db",
    "stats --db=db",
    "verify --db=db",
    "compact --db=db",
    "families create more --db=db",
    "checkpoint copy --db=db",
    "backup backups --db=db",
    "restore backups --db=restored",
    "sst --db=db",
    "repair --db=db",
    "filter build --filter=binary_fuse:1% --out=lines.filter lines.tsv",
    "filter query lines.filter lines.tsv",
    "filter bench --filter=bloom:1% --keys=1000",
    "destroy --db=db --yes",
};

class WinnowCliLimits : public testing::Test {
 protected:
  WinnowCliLimits() {
    shell_.Run("seq 1 3000 | sed 's/$/\tvalue of a line/' > lines.tsv; cp lines.tsv all.tsv");
    shell_.Run("winnow load --db=db lines.tsv");
  }

  // None may end by a signal; what fails says why in one line that begins with the program's name.
  void RunAll(const std::string& limit) {
    for (const std::string& command : kCommands) {
      const ShellResult result = shell_.Run(limit + "; winnow " + command +
                                            " 2>errors >/dev/null; code=$?; cat errors; "
                                            "exit $code");
      EXPECT_TRUE(result.exit_code >= 0 && result.exit_code <= 3)
          << limit << ": " << command << ": " << result.exit_code << ": " << result.output;
      if (result.exit_code == 3) {
        EXPECT_EQ(result.output.rfind("winnow: ", 0), 0u) << command << ": " << result.output;
      }
    }
  }

  const ScratchShell shell_;
};

TEST_F(WinnowCliLimits, FewDescriptorsAreAnError) {
  for (const char* limit : {"ulimit -n 16", "ulimit -n 5"}) RunAll(limit);
}

TEST_F(WinnowCliLimits, ALimitOnFileSizesIsAnError) { RunAll("ulimit -f 8"); }

TEST_F(WinnowCliLimits, LittleAddressSpaceIsAnError) {
  if (kSanitized) GTEST_SKIP() << "needs address space";
  RunAll("ulimit -v 60000");
}

TEST_F(WinnowCliLimits, NoThreadToBeHadIsAnError) {
  if (kSanitized) GTEST_SKIP() << "sanitizers start threads themselves";
  const std::string as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  if (shell_
          .Run("test $(id -u) = 0 && chown -R 65534:65534 . && " + as_nobody +
               "prlimit --nproc=100 winnow --version")
          .exit_code != 0) {
    GTEST_SKIP() << "only root can become a user whose threads are counted";
  }
  const std::string limit = "winnow() { " + as_nobody + "prlimit --nproc=0 winnow \"$@\"; }";
  const ShellResult loaded = shell_.Run(limit + "; winnow load --db=new lines.tsv");
  EXPECT_EQ(loaded.exit_code, 3) << loaded.output;
  EXPECT_NE(loaded.output.find("cannot start a thread"), std::string::npos) << loaded.output;
  RunAll(limit);
}

// Whoever goes on after an error goes on behind the entries that were reported.
TEST_F(WinnowCliLimits, WhatLoadReportsOnAFullDiskIsWhatIsStored) {
  shell_.Run("seq 1000000 1100000 | sed 's/$/\tvalue of a line/' > many.tsv; mkdir disk");
  const std::string small_disk = "mount -t tmpfs -o size=1500k none disk";
  const bool may_mount = shell_.Run("unshare -m sh -c '" + small_disk + "'").exit_code == 0;
  for (const std::string& limit : {std::string("ulimit -f 1200"), small_disk}) {
    if (limit == small_disk && !may_mount) continue;
    for (const std::string mode : {"", " --sorted"}) {
      for (const std::string sizes :
           {"", " --set=target_file_bytes=64K --set=write_buffer_bytes=64K"}) {
        const std::string in_own_mounts = may_mount ? "unshare -m sh -c '" : "sh -c '";
        const ShellResult result = shell_.RunForOutput(
            in_own_mounts + "rm -rf disk/*; " + limit +
            "; winnow load --db=disk/db --json --set=compression=none many.tsv" + mode + sizes +
            "; code=$?; winnow count --db=disk/db; winnow scan --db=disk/db | tr -d \"\\t\\n\" | "
            "wc -c; exit $code'");
        SCOPED_TRACE(limit + mode + sizes + ": " + result.output);
        // No file is too large where all are small.
        EXPECT_EQ(result.exit_code, limit != small_disk && !sizes.empty() ? 0 : 3);
        std::istringstream lines(result.output);
        std::string report;
        uint64_t entries = 0;
        uint64_t bytes = 0;
        ASSERT_TRUE(std::getline(lines, report) && lines >> entries >> bytes);
        const auto reported = nlohmann::json::parse(report);
        EXPECT_EQ(reported["entries"], entries);
        EXPECT_EQ(reported["bytes"], bytes);
      }
    }
  }
}

// Lines were read into a buffer that could not grow, and the process was aborted.
TEST_F(WinnowCliLimits, ALineThatDoesNotFitInMemoryIsAnError) {
  if (kSanitized) GTEST_SKIP() << "needs address space";
  const std::string line = "(printf 'key\\t'; head -c 100000000 /dev/zero) | ";
  const std::string limit = "(ulimit -v 60000; ";
  for (const char* command :
       {"load --db=new", "load --db=new --format=jsonl", "load --db=new --skip-bad",
        "filter build --filter=bloom:1% --out=f"}) {
    const ShellResult result = shell_.Run(line + limit + "winnow " + command + ")");
    EXPECT_EQ(result.exit_code, 3) << command << ": " << result.output;
    EXPECT_NE(result.output.find("standard input:1: a line of over "), std::string::npos)
        << command << ": " << result.output;
    EXPECT_NE(result.output.find("out of memory"), std::string::npos) << result.output;
  }
}

// A sparse file, behind the header of a filter.
TEST_F(WinnowCliLimits, AFilterThatDoesNotFitInMemoryIsNamed) {
  if (kSanitized) GTEST_SKIP() << "needs address space";
  shell_.Run("winnow filter build --filter=binary_fuse:1% --out=block lines.tsv");
  shell_.Run("winnow filter build --filter=bloom:1% --capacity=1000 --out=saved lines.tsv");
  for (const std::string file : {"block", "saved"}) {
    shell_.Run("truncate -s 10G " + file);
    for (const std::string verb : {"query", "info"}) {
      const ShellResult result =
          shell_.Run("(ulimit -v 200000; winnow filter " + verb + " " + file + " </dev/null)");
      EXPECT_EQ(result.exit_code, 3);
      EXPECT_EQ(result.output, "winnow: filter " + verb + ": " + file + ": out of memory\n");
    }
  }
}

}  // namespace
}  // namespace winnow
