// Openings that write without having every family's merge operator: those of tools.
#ifndef WINNOW_ENGINE_DB_MERGE_OPERATOR_STAND_INS_H_
#define WINNOW_ENGINE_DB_MERGE_OPERATOR_STAND_INS_H_

#include <map>
#include <string>

#include "engine/db/recorded_options.h"
#include "winnow/options.h"

namespace winnow {

// The names of operators, by the column families that are recorded with them.
using MissingMergeOperators = std::map<std::string, std::string>;

// Those for which `options` give no operator and which are not built in.
MissingMergeOperators MergeOperatorsMissingIn(const Options& options,
                                              const RecordedOptions& recorded);

// Lets `options` give a stand-in for each (engine/base/missing_merge_operator.h).
void AddMergeOperatorStandIns(const MissingMergeOperators& missing, Options* options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_MERGE_OPERATOR_STAND_INS_H_
