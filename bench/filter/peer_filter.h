/* How another library's filters run beside ours in bench_filter: a shared library that defines
 * winnow_peer_library, loaded with --peer=LIBRARY.so. Plain C, so that any language can write one.
 */

#ifndef WINNOW_BENCH_FILTER_PEER_FILTER_H_
#define WINNOW_BENCH_FILTER_PEER_FILTER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of the structures below. */
#define WINNOW_PEER_VERSION 1

/* One kind of filter. No function may throw. Filters are built and asked by one thread at a time.
 */
typedef struct {
  /* Without commas; a row is called "peer." and this. */
  const char* name;
  /* A filter of `count` different 64-bit keys, which are as good as random numbers already; it must
   * not keep the pointer. Null: it could not be built. */
  void* (*build)(const uint64_t* keys, size_t count);
  /* The bytes that the filter takes. */
  uint64_t (*num_bytes)(const void* filter);
  /* 1: the key may be in the filter; 0: it is not. */
  int (*may_contain)(const void* filter, uint64_t key);
  /* The same of many keys at once, or null: then may_contain is called for each. */
  void (*may_contain_batch)(const void* filter, const uint64_t* keys, size_t count,
                            uint8_t* may_contain);
  void (*release)(void* filter);
} WinnowPeerKind;

typedef struct {
  uint32_t version; /* WINNOW_PEER_VERSION */
  uint32_t num_kinds;
  const WinnowPeerKind* kinds;
} WinnowPeerLibrary;

/* The library's one symbol. What it returns stays valid. */
const WinnowPeerLibrary* winnow_peer_library(void);

#ifdef __cplusplus
}
#endif

#endif /* WINNOW_BENCH_FILTER_PEER_FILTER_H_ */
