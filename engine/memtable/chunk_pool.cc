#include "engine/memtable/chunk_pool.h"

#include <iterator>
#include <new>

namespace winnow {

ChunkPool::Chunk ChunkPool::Take(size_t bytes) {
  MutexLock lock(&mutex_);
  Size& size = sizes_[IndexOf(bytes)];
  if (size.with_room.empty()) {
    Slabs made(1);
    if (made.front().pages.data() == nullptr) throw std::bad_alloc();
    made.front().place = made.begin();
    size.with_room.splice(size.with_room.begin(), made);
  }
  Slab& slab = size.with_room.front();
  if (slab.used == 0) size.has_empty = false;
  const int free = std::countr_one(slab.used);
  slab.used |= uint32_t{1} << free;
  if (slab.used == FullOf(bytes)) {
    size.full.splice(size.full.begin(), size.with_room, slab.place);
  }
  return {slab.pages.data() + static_cast<size_t>(free) * bytes, &slab};
}

// What goes back to the system does so outside of the lock.
void ChunkPool::GiveBack(const Chunk& chunk, size_t bytes) {
  Slabs unmapped;
  MutexLock lock(&mutex_);
  Size& size = sizes_[IndexOf(bytes)];
  Slab& slab = *chunk.slab;
  if (slab.used == FullOf(bytes)) {
    size.with_room.splice(size.with_room.begin(), size.full, slab.place);
  }
  const auto number = static_cast<size_t>(chunk.data - slab.pages.data()) / bytes;
  slab.used &= ~(uint32_t{1} << number);
  if (slab.used != 0) return;
  if (size.has_empty) {
    unmapped.splice(unmapped.begin(), size.with_room, slab.place);
  } else {
    // At the back: the others come first, and it is the last to be used again.
    size.with_room.splice(size.with_room.end(), size.with_room, slab.place);
    size.has_empty = true;
  }
}

size_t ChunkPool::mapped_bytes() const {
  MutexLock lock(&mutex_);
  size_t slabs = 0;
  for (const Size& size : sizes_) slabs += size.with_room.size() + size.full.size();
  return slabs * kSlabBytes;
}

}  // namespace winnow
