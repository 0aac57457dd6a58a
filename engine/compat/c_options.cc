// winnow/c.h: options of databases, reads and writes; caches and file systems.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/compat/c_handles.h"
#include "winnow/memory_file_system.h"

using winnow::NullIfOutOfMemory;
using winnow::UnlessOutOfMemory;

namespace winnow {

namespace {

// The ranges of winnow/options.h.
// LevelDB's setters have no errptr and take any number: what Winnow would refuse at opening is
// moved to the nearest end here. winnow_options_set, which has one, refuses.
constexpr size_t kMinWriteBufferBytes = size_t{64} << 10;
constexpr size_t kMaxWriteBufferBytes = size_t{16} << 30;
constexpr size_t kMinBlockBytes = 256;
constexpr size_t kMaxBlockBytes = size_t{16} << 20;
constexpr size_t kMinFileBytes = size_t{64} << 10;
constexpr size_t kMaxFileBytes = size_t{64} << 30;
constexpr int kMaxRestartInterval = 1024;
constexpr int kMinOpenFiles = 16;
constexpr int kMaxOpenFiles = 10'000'000;

// The handle's own pointers are put into the options here, at the latest moment, because setters
// may be called in any order: whether the comparator gets the promise of equal bytes depends on the
// filter policy too. What is pointed to is shared with `kept`, so that destroying a handle while a
// database uses it takes nothing away. What column_families point to is not among it.
absl::StatusOr<Options> PrepareWithoutFamilies(const winnow_options_t& handle, KeptAlive* kept) {
  if (handle.is_incomplete) return OutOfMemory();
  Options options = handle.options;
  if (handle.comparator != nullptr) {
    const auto comparator = handle.keys_promised_equal
                                ? CallbackComparator::WithPromise(handle.comparator)
                                : handle.comparator;
    options.comparator = comparator.get();
    kept->push_back(comparator);
  }
  if (handle.filter_policy != nullptr) {
    options.filter_policy = handle.filter_policy.get();
    kept->push_back(handle.filter_policy);
  }
  if (handle.compaction_filter != nullptr) {
    options.compaction_filter = handle.compaction_filter.get();
    kept->push_back(handle.compaction_filter);
  }
  if (handle.clock != nullptr) {
    options.clock = handle.clock.get();
    kept->push_back(handle.clock);
  }
  if (handle.file_system != nullptr) {
    options.file_system = handle.file_system.get();
    kept->push_back(handle.file_system);
  }
  return options;
}

}  // namespace

absl::StatusOr<Options> PrepareOptions(const winnow_options_t& handle, KeptAlive* kept) {
  WINNOW_ASSIGN_OR_RETURN(Options options, PrepareWithoutFamilies(handle, kept));
  kept->insert(kept->end(), handle.families_kept.begin(), handle.families_kept.end());
  return options;
}

}  // namespace winnow

winnow_options_t* winnow_options_create(void) {
  return NullIfOutOfMemory([] {
    auto* options = new winnow_options_t;
    // LevelDB's default, which is not Winnow's.
    options->options.create_if_missing = false;
    return options;
  });
}

// The sizes are Winnow's own choice; what LevelDB's programs expect of a new handle stays.
winnow_options_t* winnow_options_create_for_memory(size_t memory_bytes, int threads) {
  winnow_options_t* const options = winnow_options_create();
  const bool had_memory = options != nullptr && UnlessOutOfMemory([&] {
                            options->options = winnow::Options::ForMemory(memory_bytes, threads);
                            options->options.create_if_missing = false;
                          });
  if (had_memory) return options;
  winnow_options_destroy(options);
  return nullptr;
}

void winnow_options_destroy(winnow_options_t* options) { delete options; }

void winnow_options_set_comparator(winnow_options_t* options, winnow_comparator_t* comparator) {
  options->comparator = comparator == nullptr ? nullptr : comparator->comparator;
}

void winnow_options_set_filter_policy(winnow_options_t* options, winnow_filterpolicy_t* policy) {
  // A policy is callbacks or a spec, never both. The spec is that of a Bloom filter, and LevelDB's
  // programs may use one only if keys that compare equal have equal bytes: choosing it is a
  // promise.
  options->filter_policy = policy == nullptr ? nullptr : policy->callbacks;
  options->keys_promised_equal = policy != nullptr && policy->callbacks == nullptr;
  const bool had_memory =
      UnlessOutOfMemory([&] { options->options.filter = policy == nullptr ? "" : policy->spec; });
  if (!had_memory) options->is_incomplete = true;
}

void winnow_options_set_create_if_missing(winnow_options_t* options, uint8_t value) {
  options->options.create_if_missing = value != 0;
}

void winnow_options_set_error_if_exists(winnow_options_t* options, uint8_t value) {
  options->options.error_if_exists = value != 0;
}

// What is left of LevelDB's option is whether a damaged log keeps the database from opening.
void winnow_options_set_paranoid_checks(winnow_options_t* options, uint8_t value) {
  options->options.recovery_mode =
      value != 0 ? winnow::RecoveryMode::kStrict : winnow::RecoveryMode::kPointInTime;
}

// Null, like an environment without a file system, is the operating system.
void winnow_options_set_env(winnow_options_t* options, winnow_env_t* env) {
  options->file_system = env == nullptr ? nullptr : env->file_system;
}

// There for programs that call it with null; there is no function that makes a logger.
void winnow_options_set_info_log(winnow_options_t* options, winnow_logger_t* logger) {}

void winnow_options_set_write_buffer_size(winnow_options_t* options, size_t bytes) {
  options->options.write_buffer_bytes =
      std::clamp(bytes, winnow::kMinWriteBufferBytes, winnow::kMaxWriteBufferBytes);
}

void winnow_options_set_block_size(winnow_options_t* options, size_t bytes) {
  options->options.block_bytes = std::clamp(bytes, winnow::kMinBlockBytes, winnow::kMaxBlockBytes);
}

void winnow_options_set_max_file_size(winnow_options_t* options, size_t bytes) {
  options->options.target_file_bytes =
      std::clamp(bytes, winnow::kMinFileBytes, winnow::kMaxFileBytes);
}

void winnow_options_set_block_restart_interval(winnow_options_t* options, int num_keys) {
  options->options.block_restart_interval = std::clamp(num_keys, 1, winnow::kMaxRestartInterval);
}

// 0 and less stand for max_open_files = 0 of winnow/options.h, which LevelDB's option cannot say.
void winnow_options_set_max_open_files(winnow_options_t* options, int num_files) {
  options->options.max_open_files =
      num_files <= 0 ? 0 : std::clamp(num_files, winnow::kMinOpenFiles, winnow::kMaxOpenFiles);
}

void winnow_options_set_cache(winnow_options_t* options, winnow_cache_t* cache) {
  options->options.block_cache = cache == nullptr ? nullptr : cache->cache;
}

void winnow_options_set_compression(winnow_options_t* options, int compression) {
  // Other kinds have no number in LevelDB; they are set by name.
  options->options.compression = compression == winnow_snappy_compression
                                     ? winnow::Compression::kSnappy
                                     : winnow::Compression::kNone;
}

void winnow_options_set(winnow_options_t* options, const char* name, const char* value,
                        char** errptr) {
  const std::string_view option(name);
  const bool is_set = winnow::ReportFrom(
      errptr, [&] { return winnow::SetOption(&options->options, option, value); });
  // The last call decides, also between the two ways to choose a filter.
  if (is_set && option == "filter") options->filter_policy = nullptr;
}

char* winnow_options_get(const winnow_options_t* options, const char* name, char** errptr) {
  return winnow::TextToC([&] { return winnow::OptionText(options->options, name); }, errptr);
}

// What the handle itself keeps, its comparator and the like, is put into the options when they are
// used.
void winnow_options_load(winnow_options_t* options, const char* path, char** errptr) {
  winnow::ReportFrom(errptr, [&]() -> absl::Status {
    // A share of each callback that the families of `loaded` point to, beside those that there are.
    KeptAlive kept;
    WINNOW_ASSIGN_OR_RETURN(winnow::Options loaded,
                            winnow::PrepareWithoutFamilies(*options, &kept));
    WINNOW_RETURN_IF_ERROR(winnow::DB::LoadOptions(path, &loaded));
    options->families_kept.insert(options->families_kept.end(), kept.begin(), kept.end());
    loaded.comparator = winnow::BytewiseComparator();
    loaded.filter_policy = nullptr;
    loaded.compaction_filter = nullptr;
    loaded.clock = nullptr;
    loaded.file_system = nullptr;
    options->options = std::move(loaded);
    return absl::OkStatus();
  });
}

// A pointer for good, as C programs keep it; the list is made at the first call.
const char* winnow_option_name(size_t index) {
  return NullIfOutOfMemory([&] {
    // Never destroyed: the names are handed out.
    static const auto& names = *new std::vector<std::string>([] {
      std::vector<std::string> copies;
      for (const std::string_view name : winnow::OptionNames()) copies.emplace_back(name);
      return copies;
    }());
    return index < names.size() ? names[index].c_str() : nullptr;
  });
}

// The family's options as they are now: what is set on its handle later does not count.
void winnow_options_set_column_family(winnow_options_t* options, const char* name,
                                      const winnow_options_t* family_options) {
  const absl::Status copied = winnow::CatchOutOfMemory([&]() -> absl::Status {
    // Not into families_kept at once: the two handles may be one.
    KeptAlive kept;
    WINNOW_ASSIGN_OR_RETURN(winnow::Options prepared,
                            winnow::PrepareWithoutFamilies(*family_options, &kept));
    options->families_kept.insert(options->families_kept.end(), kept.begin(), kept.end());
    options->options.column_families[name] = std::move(prepared);
    return absl::OkStatus();
  });
  if (!copied.ok()) options->is_incomplete = true;
}

winnow_readoptions_t* winnow_readoptions_create(void) {
  return NullIfOutOfMemory([] { return new winnow_readoptions_t; });
}

void winnow_readoptions_destroy(winnow_readoptions_t* options) { delete options; }

void winnow_readoptions_set_verify_checksums(winnow_readoptions_t* options, uint8_t value) {
  options->options.verify_checksums = value != 0;
}

void winnow_readoptions_set_fill_cache(winnow_readoptions_t* options, uint8_t value) {
  options->options.fill_cache = value != 0;
}

// Only referred to: the snapshot must not be released while reads use these options.
void winnow_readoptions_set_snapshot(winnow_readoptions_t* options,
                                     const winnow_snapshot_t* snapshot) {
  options->options.snapshot = reinterpret_cast<const winnow::Snapshot*>(snapshot);
}

namespace {

// False if there was no memory for the bound.
bool SetBound(std::optional<std::string>* bound, const char* key, size_t keylen) {
  bound->reset();
  return key == nullptr || UnlessOutOfMemory([&] { bound->emplace(key, keylen); });
}

}  // namespace

// Copied, unlike a snapshot; null removes the bound.
void winnow_readoptions_set_lower_bound(winnow_readoptions_t* options, const char* key,
                                        size_t keylen) {
  options->lower_bound_is_missing = !SetBound(&options->options.lower_bound, key, keylen);
}

void winnow_readoptions_set_upper_bound(winnow_readoptions_t* options, const char* key,
                                        size_t keylen) {
  options->upper_bound_is_missing = !SetBound(&options->options.upper_bound, key, keylen);
}

winnow_writeoptions_t* winnow_writeoptions_create(void) {
  return NullIfOutOfMemory([] { return new winnow_writeoptions_t; });
}

void winnow_writeoptions_destroy(winnow_writeoptions_t* options) { delete options; }

void winnow_writeoptions_set_sync(winnow_writeoptions_t* options, uint8_t value) {
  options->options.sync = value != 0;
}

void winnow_writeoptions_set_disable_wal(winnow_writeoptions_t* options, uint8_t value) {
  options->options.disable_wal = value != 0;
}

winnow_cache_t* winnow_cache_create_lru(size_t capacity) {
  return NullIfOutOfMemory([&] { return new winnow_cache_t{winnow::NewBlockCache(capacity)}; });
}

// Databases that use the cache have shares of it.
void winnow_cache_destroy(winnow_cache_t* cache) { delete cache; }

winnow_env_t* winnow_create_default_env(void) {
  return NullIfOutOfMemory([] { return new winnow_env_t; });
}

winnow_env_t* winnow_create_memory_env(void) {
  return NullIfOutOfMemory([] { return new winnow_env_t{winnow::NewMemoryFileSystem()}; });
}

void winnow_env_destroy(winnow_env_t* env) { delete env; }

// Where LevelDB's tests look: TEST_TMPDIR, or a directory of the user's own. A file system in
// memory has no such place.
char* winnow_env_get_test_directory(winnow_env_t* env) {
  if (env->file_system != nullptr) return nullptr;
  return NullIfOutOfMemory([]() -> char* {
    const char* chosen = std::getenv("TEST_TMPDIR");
    const std::string path = chosen != nullptr && *chosen != '\0'
                                 ? std::string(chosen)
                                 : absl::StrCat("/tmp/winnowtest-", geteuid());
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return nullptr;
    return winnow::CopyToC(path);
  });
}
