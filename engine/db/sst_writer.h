// SSTables written for databases to ingest.
#ifndef WINNOW_ENGINE_DB_SST_WRITER_H_
#define WINNOW_ENGINE_DB_SST_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/sstable/sstable_builder.h"
#include "winnow/ingest.h"

namespace winnow {

// A writer of tables as `builder` says, but external ones, whose operands `merge_operator` checks,
// and whose values have write times if there is a time to live; its clock must outlive the writer.
// The errors of CheckNewFile.
absl::StatusOr<std::unique_ptr<SstWriter>> CreateSstWriter(
    SstableBuilderOptions builder, std::shared_ptr<const MergeOperator> merge_operator,
    const std::string& path, FileSystem* file_system, const TimeToLive& ttl = {});

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_SST_WRITER_H_
