// The commands of the winnow program; each is defined in the file of its noun.
#ifndef WINNOW_TOOLS_WINNOW_COMMANDS_H_
#define WINNOW_TOOLS_WINNOW_COMMANDS_H_

#include "tools/winnow/command.h"

namespace winnow::cli {

Command LoadCommand();        // load.cc
Command ImportCommand();      // import.cc
Command SstBuildCommand();    // ingest.cc
Command IngestCommand();      // ingest.cc
Command ExportCommand();      // export.cc
Command GetCommand();         // get.cc
Command MultiGetCommand();    // get.cc
Command HasCommand();         // get.cc
Command PutCommand();         // put.cc
Command MergeCommand();       // put.cc
Command DeleteCommand();      // put.cc
Command TransactCommand();    // transact.cc
Command ScanCommand();        // scan.cc
Command CountCommand();       // scan.cc
Command StatsCommand();       // stats.cc
Command PlanCommand();        // plan.cc
Command PropertyCommand();    // stats.cc
Command OptionsCommand();     // options.cc
Command FamiliesCommand();    // families.cc
Command TableCommand();       // table.cc
Command ShellCommand();       // shell.cc
Command CompactCommand();     // compact.cc
Command RefilterCommand();    // refilter.cc
Command CompareCommand();     // compare.cc
Command TraceCommand();       // trace.cc
Command ExplainCommand();     // explain.cc
Command VerifyCommand();      // verify.cc
Command RepairCommand();      // repair.cc
Command ReplayCommand();      // replay.cc
Command CheckpointCommand();  // backup.cc
Command BackupCommand();      // backup.cc
Command RestoreCommand();     // backup.cc
Command DestroyCommand();     // destroy.cc
Command SstCommand();         // sst.cc
Command WalCommand();         // wal.cc
Command ManifestCommand();    // manifest.cc

Command FilterCommand();         // filter.cc; what follows are its verbs
Command FilterPlanCommand();     // filter_plan.cc
Command FilterBuildCommand();    // filter_build.cc
Command FilterQueryCommand();    // filter_query.cc
Command FilterInfoCommand();     // filter_query.cc
Command FilterMergeCommand();    // filter_exchange.cc
Command FilterConvertCommand();  // filter_exchange.cc
Command FilterBenchCommand();    // filter_plan.cc

// Where the build has filters on a Redis server:
Command RedisCommand();         // redis.cc; what follows are its verbs
Command RedisCreateCommand();   // redis_create.cc
Command RedisInfoCommand();     // redis_create.cc
Command RedisAddCommand();      // redis_keys.cc
Command RedisQueryCommand();    // redis_keys.cc
Command RedisDumpCommand();     // redis_dump.cc
Command RedisLoadCommand();     // redis_dump.cc
Command RedisRebuildCommand();  // redis_keys.cc

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_COMMANDS_H_
