// The way into the module in which engine_leveldb.cc is compiled with Winnow's headers in place of
// LevelDB's. Nothing else of the module is seen: its names are LevelDB's, which may be here too.
#include "tools/winnow_bench/leveldb_face.h"

namespace winnow::bench {

extern "C" const EngineFactory* WinnowBenchLevelDbFace() { return &kLevelDbFactory; }

}  // namespace winnow::bench
