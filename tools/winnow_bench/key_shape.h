// What keys look like. Each shape is a function from numbers to bytes: the same number gives the
// same key in every run and for every engine, whatever --num is, and different numbers give
// different keys.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_KEY_SHAPE_H_
#define WINNOW_TOOLS_WINNOW_BENCH_KEY_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace winnow::bench {

enum class KeyShape {
  kDbBench,       // written by KeySpace itself, which also knows its --prefix_size
  kSharedPrefix,  // "user:00000012345"
  kUrl,           // "https://www.bagule.org/blog/0640-block-key-level.html"
  kUuid,          // "2c1b7f0a-9d3e-4c55-8f21-6b0d4e7a9c12"
  kComposite,     // tenant, device and time as big-endian integers
};

struct KeyShapeName {
  std::string_view name;  // for --key_shape
  KeyShape shape;
  std::string_view description;
};

inline void WriteBigEndian(uint64_t number, size_t bytes, char* out) {
  for (size_t i = bytes; i-- > 0; number >>= 8) out[i] = static_cast<char>(number & 0xff);
}

// All of them, in the order of --help.
std::span<const KeyShapeName> KeyShapes();
// Null if there is none of that name.
const KeyShapeName* FindKeyShape(std::string_view name);

// The longest key of the shape in bytes; 0: as long as --key_size says.
size_t LongestKeyBytes(KeyShape shape);
// How many numbers, from 0 on, the shape tells apart in keys of `key_bytes` bytes (which count only
// where --key_size does).
double NumbersOf(KeyShape shape, size_t key_bytes);

// Writes the key of `number` over `*key`. Order of numbers is order of bytes, except for kUuid,
// whose keys are in random order. Not for kDbBench. number < NumbersOf(shape, key_bytes).
void WriteShapedKey(KeyShape shape, size_t key_bytes, uint64_t number, std::string* key);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_KEY_SHAPE_H_
