// What the module of leveldb_face.cc shows.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_LEVELDB_FACE_H_
#define WINNOW_TOOLS_WINNOW_BENCH_LEVELDB_FACE_H_

#include "tools/winnow_bench/engine_factory.h"

namespace winnow::bench {

inline constexpr const char* kLevelDbFaceSymbol = "WinnowBenchLevelDbFace";

extern "C" const EngineFactory* WinnowBenchLevelDbFace();

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_LEVELDB_FACE_H_
