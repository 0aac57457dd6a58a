// The tables of `tools/dev soak`, a line for each load as soon as it is over.
#ifndef WINNOW_TESTS_ENGINE_SOAK_SOAK_TABLES_H_
#define WINNOW_TESTS_ENGINE_SOAK_SOAK_TABLES_H_

#include <string>
#include <vector>

#include "tests/engine/soak/limits.h"
#include "tests/engine/soak/many_files.h"
#include "tests/engine/soak/memory_bound.h"
#include "tests/engine/soak/soak.h"

namespace winnow::soak {

void PrintLimitsTitles();
void PrintLimitsRow(const Cell& cell, const CellReport& report);

void PrintMemoryTitles();
void PrintMemoryRow(const MemoryCell& cell, const MemoryReport& report);

void PrintFilesTitles();
void PrintFilesRow(const FilesCell& cell, const FilesReport& report);

void PrintIntervalTitles();
void PrintIntervalRow(int interval, const Sample& sample);

// Below the row that they belong to.
void PrintProblems(const std::vector<std::string>& problems);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_SOAK_TABLES_H_
