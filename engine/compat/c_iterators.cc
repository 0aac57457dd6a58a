// winnow/c.h: iterators and write batches.
#include "engine/compat/c_handles.h"

using winnow::BytesOf;
using winnow::NullIfOutOfMemory;
using winnow::UnlessOutOfMemory;

uint8_t winnow_iter_valid(const winnow_iterator_t* iterator) {
  return iterator->iterator->Valid() ? 1 : 0;
}

// As in LevelDB no movement reports an error: an iterator that meets one is not valid any more, and
// winnow_iter_get_error says whether that was the end or a failure.
void winnow_iter_seek_to_first(winnow_iterator_t* iterator) { iterator->iterator->SeekToFirst(); }

void winnow_iter_seek_to_last(winnow_iterator_t* iterator) { iterator->iterator->SeekToLast(); }

void winnow_iter_seek(winnow_iterator_t* iterator, const char* k, size_t klen) {
  iterator->iterator->Seek(BytesOf(k, klen));
}

void winnow_iter_seek_for_prev(winnow_iterator_t* iterator, const char* k, size_t klen) {
  iterator->iterator->SeekForPrev(BytesOf(k, klen));
}

void winnow_iter_next(winnow_iterator_t* iterator) { iterator->iterator->Next(); }

void winnow_iter_prev(winnow_iterator_t* iterator) { iterator->iterator->Prev(); }

// Key and value belong to the iterator until it moves, and have no zero byte behind them.
const char* winnow_iter_key(const winnow_iterator_t* iterator, size_t* klen) {
  const std::string_view key = iterator->iterator->key();
  *klen = key.size();
  return key.data();
}

const char* winnow_iter_value(const winnow_iterator_t* iterator, size_t* vlen) {
  const std::string_view value = iterator->iterator->value();
  *vlen = value.size();
  return value.data();
}

void winnow_iter_get_error(const winnow_iterator_t* iterator, char** errptr) {
  winnow::ReportToC(iterator->iterator->status(), errptr);
}

// Not valid until the next seek, which shows the present state; bounds stay.
void winnow_iter_refresh(winnow_iterator_t* iterator, char** errptr) {
  winnow::ReportToC(iterator->iterator->Refresh(), errptr);
}

namespace {

// LevelDB's callbacks know of no column families; those of the _cf function get the family's id
// first.
using PutFunction = void (*)(void*, const char*, size_t, const char*, size_t);
using DeleteFunction = void (*)(void*, const char*, size_t);
using FamilyPutFunction = void (*)(void*, uint32_t, const char*, size_t, const char*, size_t);
using FamilyDeleteFunction = void (*)(void*, uint32_t, const char*, size_t);

// One handler for both sets of callbacks, which the caller adapts; it refers to them and does not
// outlive the call.
template <typename OnPut, typename OnDelete>
class CallbackHandler final : public winnow::WriteBatch::Handler {
 public:
  CallbackHandler(const OnPut& on_put, const OnDelete& on_delete)
      : put_(on_put), delete_(on_delete) {}

  // C callbacks return nothing, and so cannot end the walk.
  absl::Status Put(uint32_t family_id, std::string_view key, std::string_view value) override {
    put_(family_id, key, value);
    return absl::OkStatus();
  }
  absl::Status Delete(uint32_t family_id, std::string_view key) override {
    delete_(family_id, key);
    return absl::OkStatus();
  }
  // There is no callback for these.
  absl::Status Merge(uint32_t, std::string_view, std::string_view) override {
    return absl::OkStatus();
  }
  absl::Status DeleteRange(uint32_t, std::string_view, std::string_view) override {
    return absl::OkStatus();
  }

 private:
  const OnPut& put_;
  const OnDelete& delete_;
};

}  // namespace

winnow_writebatch_t* winnow_writebatch_create(void) {
  return NullIfOutOfMemory([] { return new winnow_writebatch_t; });
}

// A batch that names no family belongs to no database: it may be written to several, more than
// once, and outlive them.
void winnow_writebatch_destroy(winnow_writebatch_t* batch) { delete batch; }

void winnow_writebatch_clear(winnow_writebatch_t* batch) {
  batch->batch.Clear();
  batch->is_incomplete = false;
}

namespace {

template <typename Update>
void Add(winnow_writebatch_t* batch, Update update) {
  if (!UnlessOutOfMemory([&] { update(batch->batch); })) batch->is_incomplete = true;
}

}  // namespace

// Copied into the batch; keys and values that are too long, or for which there was no memory, are
// refused by the write, which has an errptr.
void winnow_writebatch_put(winnow_writebatch_t* batch, const char* key, size_t klen,
                           const char* val, size_t vlen) {
  Add(batch,
      [&](winnow::WriteBatch& updates) { updates.Put(BytesOf(key, klen), BytesOf(val, vlen)); });
}

void winnow_writebatch_put_cf(winnow_writebatch_t* batch, const winnow_columnfamily_t* family,
                              const char* key, size_t klen, const char* val, size_t vlen) {
  Add(batch, [&](winnow::WriteBatch& updates) {
    updates.Put(family->family, BytesOf(key, klen), BytesOf(val, vlen));
  });
}

void winnow_writebatch_delete(winnow_writebatch_t* batch, const char* key, size_t klen) {
  Add(batch, [&](winnow::WriteBatch& updates) { updates.Delete(BytesOf(key, klen)); });
}

void winnow_writebatch_delete_cf(winnow_writebatch_t* batch, const winnow_columnfamily_t* family,
                                 const char* key, size_t klen) {
  Add(batch,
      [&](winnow::WriteBatch& updates) { updates.Delete(family->family, BytesOf(key, klen)); });
}

void winnow_writebatch_delete_range(winnow_writebatch_t* batch, const char* begin, size_t begin_len,
                                    const char* end, size_t end_len) {
  Add(batch, [&](winnow::WriteBatch& updates) {
    updates.DeleteRange(BytesOf(begin, begin_len), BytesOf(end, end_len));
  });
}

void winnow_writebatch_delete_range_cf(winnow_writebatch_t* batch,
                                       const winnow_columnfamily_t* family, const char* begin,
                                       size_t begin_len, const char* end, size_t end_len) {
  Add(batch, [&](winnow::WriteBatch& updates) {
    updates.DeleteRange(family->family, BytesOf(begin, begin_len), BytesOf(end, end_len));
  });
}

// What the source lacks the result lacks as well.
void winnow_writebatch_append(winnow_writebatch_t* destination, const winnow_writebatch_t* source) {
  Add(destination, [&](winnow::WriteBatch& updates) { updates.Append(source->batch); });
  destination->is_incomplete |= source->is_incomplete;
}

uint32_t winnow_writebatch_count(const winnow_writebatch_t* batch) {
  return batch->batch.num_updates();
}

// Shows the updates of all families: a program that uses this function has only one.
void winnow_writebatch_iterate(const winnow_writebatch_t* batch, void* state, PutFunction put,
                               DeleteFunction deleted) {
  const auto on_put = [=](uint32_t, std::string_view key, std::string_view value) {
    put(state, key.data(), key.size(), value.data(), value.size());
  };
  const auto on_delete = [=](uint32_t, std::string_view key) {
    deleted(state, key.data(), key.size());
  };
  CallbackHandler handler(on_put, on_delete);
  // A batch made by these functions is well-formed.
  batch->batch.ForEach(handler).IgnoreError();
}

namespace {

using UpdateFunction = void (*)(void*, int, uint32_t, const char*, size_t, const char*, size_t);

// For programs that must see every update, merges and range deletions among them: `value` is the
// operand there, or the end of the range.
class UpdateHandler final : public winnow::WriteBatch::Handler {
 public:
  UpdateHandler(void* state, UpdateFunction update) : state_(state), update_(update) {}
  absl::Status Put(uint32_t family_id, std::string_view key, std::string_view value) override {
    return Show(winnow_update_put, family_id, key, value);
  }
  absl::Status Delete(uint32_t family_id, std::string_view key) override {
    return Show(winnow_update_delete, family_id, key, {});
  }
  absl::Status Merge(uint32_t family_id, std::string_view key, std::string_view operand) override {
    return Show(winnow_update_merge, family_id, key, operand);
  }
  absl::Status DeleteRange(uint32_t family_id, std::string_view begin,
                           std::string_view end) override {
    return Show(winnow_update_delete_range, family_id, begin, end);
  }

 private:
  absl::Status Show(int kind, uint32_t family_id, std::string_view key, std::string_view value) {
    update_(state_, kind, family_id, key.data(), key.size(), value.data(), value.size());
    return absl::OkStatus();
  }

  void* const state_;
  const UpdateFunction update_;
};

}  // namespace

void winnow_writebatch_iterate_updates(const winnow_writebatch_t* batch, void* state,
                                       UpdateFunction update) {
  UpdateHandler handler(state, update);
  batch->batch.ForEach(handler).IgnoreError();
}

void winnow_writebatch_iterate_cf(const winnow_writebatch_t* batch, void* state,
                                  FamilyPutFunction put, FamilyDeleteFunction deleted) {
  const auto on_put = [=](uint32_t family_id, std::string_view key, std::string_view value) {
    put(state, family_id, key.data(), key.size(), value.data(), value.size());
  };
  const auto on_delete = [=](uint32_t family_id, std::string_view key) {
    deleted(state, family_id, key.data(), key.size());
  };
  CallbackHandler handler(on_put, on_delete);
  batch->batch.ForEach(handler).IgnoreError();
}
