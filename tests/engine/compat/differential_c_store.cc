// LevelDB's C functions, of LevelDB's library or of Winnow.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/compat/differential_store.h"
#include "winnow/c.h"

namespace winnow {
namespace {

// The functions of LevelDB's C API that take part, of one library or another.
// clang-format off
#define WINNOW_C_API(F) \
  F(open) F(close) F(put) F(delete) F(write) F(get) F(create_iterator) F(create_snapshot) \
  F(release_snapshot) F(property_value) F(compact_range) F(iter_destroy) F(iter_valid) \
  F(iter_seek) F(iter_seek_to_first) F(iter_seek_to_last) F(iter_next) F(iter_prev) F(iter_key) \
  F(iter_value) F(iter_get_error) F(writebatch_create) F(writebatch_destroy) F(writebatch_put) \
  F(writebatch_delete) F(writebatch_append) F(options_create) F(options_destroy) \
  F(options_set_filter_policy) F(options_set_create_if_missing) F(options_set_write_buffer_size) \
  F(options_set_block_size) F(options_set_block_restart_interval) F(options_set_compression) \
  F(filterpolicy_create_bloom) F(filterpolicy_destroy) F(readoptions_create) \
  F(readoptions_destroy) F(readoptions_set_snapshot) F(writeoptions_create) \
  F(writeoptions_destroy) F(writeoptions_set_sync) F(free)
// clang-format on

struct CApi {
#define WINNOW_MEMBER(name) decltype(&winnow_##name) name##_function;
  WINNOW_C_API(WINNOW_MEMBER)
#undef WINNOW_MEMBER
};

CApi OwnCApi() {
  CApi api;
#define WINNOW_SET(name) api.name##_function = &winnow_##name;
  WINNOW_C_API(WINNOW_SET)
#undef WINNOW_SET
  return api;
}

// None where LevelDB is not installed.
std::optional<CApi> LevelDbCApi() {
  void* library = nullptr;
  for (const char* name : {"libleveldb.so.1d", "libleveldb.so.1", "libleveldb.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return std::nullopt;
  CApi api;
  bool is_complete = true;
#define WINNOW_LOAD(name)                                                           \
  api.name##_function =                                                             \
      reinterpret_cast<decltype(&winnow_##name)>(dlsym(library, "leveldb_" #name)); \
  is_complete &= api.name##_function != nullptr;
  WINNOW_C_API(WINNOW_LOAD)
#undef WINNOW_LOAD
  if (!is_complete) return std::nullopt;
  return api;
}

class CStore final : public Store {
 public:
  CStore(const CApi& api, const Settings& settings, const std::string& path)
      : api_(api), write_(api.writeoptions_create_function()) {
    winnow_options_t* const options = api.options_create_function();
    api.options_set_create_if_missing_function(options, 1);
    api.options_set_write_buffer_size_function(options, settings.write_buffer_bytes);
    api.options_set_block_size_function(options, settings.block_bytes);
    api.options_set_block_restart_interval_function(options, settings.restart_interval);
    api.options_set_compression_function(options, settings.compresses ? 1 : 0);
    if (settings.bloom_bits > 0) {
      policy_ = api.filterpolicy_create_bloom_function(settings.bloom_bits);
      api.options_set_filter_policy_function(options, policy_);
    }
    db_ = api.open_function(options, path.c_str(), &error_);
    Check();
    api.options_destroy_function(options);
  }
  ~CStore() override {
    for (winnow_iterator_t* const iterator : iterators_) api_.iter_destroy_function(iterator);
    for (const winnow_snapshot_t* const s : snapshots_) api_.release_snapshot_function(db_, s);
    api_.close_function(db_);
    api_.writeoptions_destroy_function(write_);
    if (policy_ != nullptr) api_.filterpolicy_destroy_function(policy_);
  }

  void Put(const std::string& key, const std::string& value, bool sync) override {
    api_.writeoptions_set_sync_function(write_, sync ? 1 : 0);
    api_.put_function(db_, write_, key.data(), key.size(), value.data(), value.size(), &error_);
    Check();
  }
  void Delete(const std::string& key) override {
    api_.delete_function(db_, write_, key.data(), key.size(), &error_);
    Check();
  }
  // The second half is appended as a batch of its own.
  void Write(const std::vector<Update>& updates) override {
    const std::array<winnow_writebatch_t*, 2> batches = {api_.writebatch_create_function(),
                                                         api_.writebatch_create_function()};
    for (size_t i = 0; i < updates.size(); i++) {
      const auto& [key, value] = updates[i];
      winnow_writebatch_t* const batch = batches[i < updates.size() / 2 ? 0 : 1];
      if (value.has_value()) {
        api_.writebatch_put_function(batch, key.data(), key.size(), value->data(), value->size());
      } else {
        api_.writebatch_delete_function(batch, key.data(), key.size());
      }
    }
    api_.writebatch_append_function(batches[0], batches[1]);
    api_.write_function(db_, write_, batches[0], &error_);
    Check();
    for (winnow_writebatch_t* const batch : batches) api_.writebatch_destroy_function(batch);
  }
  std::string Get(const std::string& key, int snapshot) override {
    winnow_readoptions_t* const read = Read(snapshot);
    size_t length = 0;
    char* const value = api_.get_function(db_, read, key.data(), key.size(), &length, &error_);
    Check();
    std::string result = value == nullptr ? "absent" : EntryText(key, {value, length});
    api_.free_function(value);
    api_.readoptions_destroy_function(read);
    return result;
  }
  void TakeSnapshot() override { snapshots_.push_back(api_.create_snapshot_function(db_)); }
  void ReleaseSnapshot(int snapshot) override {
    api_.release_snapshot_function(db_, snapshots_[static_cast<size_t>(snapshot)]);
    snapshots_.erase(snapshots_.begin() + snapshot);
  }
  void NewIterator(int snapshot) override {
    winnow_readoptions_t* const read = Read(snapshot);
    iterators_.push_back(api_.create_iterator_function(db_, read));
    api_.readoptions_destroy_function(read);
  }
  void DropIterator(int iterator) override {
    api_.iter_destroy_function(iterators_[static_cast<size_t>(iterator)]);
    iterators_.erase(iterators_.begin() + iterator);
  }
  std::string Move(int iterator, Step step, const std::string& key) override {
    winnow_iterator_t* const it = iterators_[static_cast<size_t>(iterator)];
    const bool was_valid = api_.iter_valid_function(it) != 0;
    if (step == Step::kFirst) api_.iter_seek_to_first_function(it);
    if (step == Step::kLast) api_.iter_seek_to_last_function(it);
    if (step == Step::kSeek) api_.iter_seek_function(it, key.data(), key.size());
    if (step == Step::kNext && was_valid) api_.iter_next_function(it);
    if (step == Step::kPrev && was_valid) api_.iter_prev_function(it);
    api_.iter_get_error_function(it, &error_);
    Check();
    if (api_.iter_valid_function(it) == 0) return "end";
    size_t key_length;
    size_t value_length;
    const char* const found = api_.iter_key_function(it, &key_length);
    const char* const value = api_.iter_value_function(it, &value_length);
    return EntryText({found, key_length}, {value, value_length});
  }
  void Compact(const Bound& begin, const Bound& end) override {
    api_.compact_range_function(db_, begin ? begin->data() : nullptr, begin ? begin->size() : 0,
                                end ? end->data() : nullptr, end ? end->size() : 0);
  }
  bool HasProperty(const std::string& name) override {
    char* const value = api_.property_value_function(db_, name.c_str());
    api_.free_function(value);
    return value != nullptr;
  }

 private:
  void Check() {
    EXPECT_EQ(error_, nullptr) << error_;
    api_.free_function(std::exchange(error_, nullptr));
  }
  winnow_readoptions_t* Read(int snapshot) {
    winnow_readoptions_t* const read = api_.readoptions_create_function();
    if (snapshot != kNoSnapshot) {
      api_.readoptions_set_snapshot_function(read, snapshots_[static_cast<size_t>(snapshot)]);
    }
    return read;
  }

  const CApi api_;
  winnow_writeoptions_t* const write_;
  winnow_filterpolicy_t* policy_ = nullptr;
  winnow_t* db_ = nullptr;
  char* error_ = nullptr;
  std::vector<const winnow_snapshot_t*> snapshots_;
  std::vector<winnow_iterator_t*> iterators_;
};

}  // namespace

std::string EntryText(std::string_view key, std::string_view value) {
  const std::string_view start = value.substr(0, 12);
  return absl::StrCat(absl::CHexEscape({key.data(), key.size()}), " = ", value.size(), " bytes, ",
                      absl::CHexEscape({start.data(), start.size()}));
}

std::unique_ptr<Store> OpenLevelDb(const Settings& settings, const std::string& path) {
  static const std::optional<CApi> api = LevelDbCApi();
  return api.has_value() ? std::make_unique<CStore>(*api, settings, path) : nullptr;
}

std::unique_ptr<Store> OpenWithCFunctions(const Settings& settings, const std::string& path) {
  return std::make_unique<CStore>(OwnCApi(), settings, path);
}

}  // namespace winnow
