// Standard input, output and error as a program is given them: closed, full, or limited.
#ifndef WINNOW_TOOLS_PROCESS_STANDARD_STREAMS_H_
#define WINNOW_TOOLS_PROCESS_STANDARD_STREAMS_H_

#include "absl/status/status.h"

namespace winnow::process {

// The first thing that a program does, before it opens any file.
//
// A stream that is closed is taken, so that no file gets its number and is written into by what is
// meant for people; reading or writing it stays an error. A write over the limit on file sizes
// (`ulimit -f`) becomes an error like that of a full disk, where the system would end the program.
// A pipe whose reader has gone still ends it, quietly.
void PrepareStandardStreams();

// The last thing that a program does that prints with stdio. Unavailable: not all of what was
// printed to standard output could be written.
absl::Status FlushStandardOutput();

}  // namespace winnow::process

#endif  // WINNOW_TOOLS_PROCESS_STANDARD_STREAMS_H_
