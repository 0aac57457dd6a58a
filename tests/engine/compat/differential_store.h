// A store as the differential test drives it: LevelDB's library, or Winnow in its place.
#ifndef WINNOW_TESTS_ENGINE_COMPAT_DIFFERENTIAL_STORE_H_
#define WINNOW_TESTS_ENGINE_COMPAT_DIFFERENTIAL_STORE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

struct Update {
  std::string key;
  std::optional<std::string> value;  // none: a deletion
};

struct Settings {
  size_t write_buffer_bytes;
  size_t block_bytes;
  int restart_interval;
  int bloom_bits;  // 0: no filter policy
  bool compresses;
};

enum class Step { kFirst, kLast, kSeek, kNext, kPrev };

inline constexpr int kNoSnapshot = -1;
using Bound = std::optional<std::string>;

// A store with its snapshots and iterators, which are named by their place.
class Store {
 public:
  virtual ~Store() = default;
  virtual void Put(const std::string& key, const std::string& value, bool sync) = 0;
  virtual void Delete(const std::string& key) = 0;
  virtual void Write(const std::vector<Update>& updates) = 0;
  virtual std::string Get(const std::string& key, int snapshot) = 0;
  virtual void TakeSnapshot() = 0;
  virtual void ReleaseSnapshot(int snapshot) = 0;
  virtual void NewIterator(int snapshot) = 0;
  virtual void DropIterator(int iterator) = 0;
  // Where it stands then.
  virtual std::string Move(int iterator, Step step, const std::string& key) = 0;
  virtual void Compact(const Bound& begin, const Bound& end) = 0;
  // Whether there is such a property.
  virtual bool HasProperty(const std::string& name) = 0;
};

// What an answer shows of an entry.
std::string EntryText(std::string_view key, std::string_view value);

// LevelDB's library through its C functions, which is loaded now, so that its leveldb:: names and
// those of Winnow's classes do not meet; null where there is none.
std::unique_ptr<Store> OpenLevelDb(const Settings& settings, const std::string& path);
// Winnow through its C functions of the same names, and behind LevelDB's C++ classes.
std::unique_ptr<Store> OpenWithCFunctions(const Settings& settings, const std::string& path);
std::unique_ptr<Store> OpenWithCppClasses(const Settings& settings, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_COMPAT_DIFFERENTIAL_STORE_H_
