// Commands that read, beside a process that writes, compacts and changes filters all the while: a
// file that it removes under them is no damage.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/winnow_cli_shell.h"

namespace winnow {
namespace {

constexpr int kRounds = 10;

constexpr char kWriter[] = R"(
round=0
while [ ! -e stop ]; do
  round=$((round + 1))
  seq $((round % 7)) 7 40000 | sed "s/.*/key&\tvalue of round $round/" |
    winnow load --db=db --set=write_buffer_bytes=64K --set=target_file_bytes=64K \
      --set=level0_compaction_trigger=2 || exit
  winnow refilter --db=db --filter=cuckoo:12 || exit
  case $((round % 3)) in
  0) winnow compact --db=db ;;
  1) winnow refilter --db=db --filter=ribbon:1% --filter-key=whole+prefix:4 ;;
  2) winnow delete --db=db key1 --to=key2 && winnow families create --db=db more &&
       winnow families drop --db=db more ;;
  esac || exit
done
)";

// In a process of its own from here to the end of the scope.
class BackgroundWriter {
 public:
  explicit BackgroundWriter(const ScratchShell& shell) : shell_(shell) {
    const ShellResult started =
        shell_.Run("winnow put --db=db key value && mkfifo ended && cat >writer.sh <<'END'\n" +
                   std::string(kWriter) + "END\n" +
                   "(sh writer.sh >writer.log 2>&1; echo $? >ended) >writer.end 2>&1 &");
    EXPECT_EQ(started.exit_code, 0) << started.output;
  }
  ~BackgroundWriter() {
    const ShellResult ended =
        shell_.Run("touch stop; read code <ended; cat writer.log; exit $code");
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
  }

  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

 private:
  const ScratchShell& shell_;
};

// Of what a command prints, the first line that speaks of damage or of a file that is not there.
std::string Complaint(const ScratchShell& shell) {
  return shell
      .Run(
          "grep -v '^filters.damaged  *0  *0$' output | grep -Eim1 "
          "'damag|corrupt|missing|no such file|cannot|checksum|unreadable'")
      .output;
}

TEST(WinnowCliBesideWriter, CommandsThatReadMeetNoDamage) {
  const ScratchShell shell;
  const BackgroundWriter writer(shell);
  const std::vector<std::string> reading = {
      "get key77",    "scan --from=key3", "count", "stats",    "verify",
      "wal",          "manifest",         "sst",   "families", "property estimate-num-keys",
      "explain key77"};
  for (int round = 0; round < kRounds; round++) {
    for (const std::string& command : reading) {
      const bool may_be_absent = command.starts_with("get") || command.starts_with("explain");
      const ShellResult result = shell.Run("winnow " + command + " --db=db >output");
      EXPECT_TRUE(result.exit_code == 0 || (may_be_absent && result.exit_code == 1))
          << command << ": " << result.exit_code << ": " << shell.Run("tail -n 3 output").output;
      if (!may_be_absent) {
        EXPECT_EQ(result.output, "") << command;
      }
      EXPECT_EQ(Complaint(shell), "") << command;
    }
  }
}

}  // namespace
}  // namespace winnow
