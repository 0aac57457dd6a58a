// Filling blocks with the bit matrices of AVX-512 (GFNI).
//
// A bit of a block lies in a 64-bit word, in one of its eight bytes, and at one of eight places
// there: its position, of nine bits, is word * 64 + byte * 8 + place. All three are numbers below
// eight, so that eight probes make three matrices of 8 by 8 bits: row i of one has a single one, at
// probe i's word (byte, place). For each word of the block, the product
//
//   transposed(byte matrix, without the rows of probes into other words) * place matrix
//
// has a one in row b, column p if a probe goes to byte b and place p of that word. One instruction
// multiplies for all eight words. Its sums are exclusive ors, which two equal probes of a key would
// turn to zero: a probe that repeats an earlier one is left out.

#include "filter/simd/block_add.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace winnow::filter::internal {
namespace {

#define WINNOW_GFNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512cd,gfni")))
#define WINNOW_GFNI_INLINE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512cd,gfni"), always_inline))

constexpr size_t kGroup = 8;           // keys
constexpr size_t kPairs = kGroup / 2;  // of keys, each in one register
constexpr size_t kHalfBytes = 32;      // of a register, for one key of a pair
constexpr size_t kRows = 8;            // of a matrix, which is 64 bits
constexpr size_t kLanes = 16;          // of 32 bits in a register: a key's eight probes, twice
constexpr size_t kPlaceMatrix = 0;     // in a key's half of a register
constexpr size_t kByteMatrix = 1;
constexpr size_t kWordMatrix = 2;
constexpr int kPositionShift = 32 - 9;  // of a product whose top bits are the position

// For intrinsics with a mask, in place of those without: g++ 12 warns of what the latter leave
// undefined.
constexpr __mmask64 kAll = ~__mmask64{0};

template <typename Lane>
using Register = std::array<Lane, 64 / sizeof(Lane)>;

// What stays the same for all keys, one register each. Bytes and matrices count from the lowest.
struct Tables {
  alignas(64) std::array<Register<uint32_t>, kPairs> hashes_of_pair{};  // of a group's hashes
  alignas(64) Register<uint32_t> multipliers{};
  alignas(64) Register<uint32_t> earlier_probes{};  // of the same key, as a set of lanes
  // Of each probe its place, byte and word, each in the low bits of a byte of its own.
  alignas(64) Register<uint8_t> field_shifts{};
  alignas(64) Register<uint8_t> one_at{};  // 1 << (index mod 8)
  alignas(64) Register<uint8_t> rows{};    // of the matrices, among those bytes
  alignas(64) Register<uint8_t> units{};   // matrices whose product with another is its transposed
  alignas(64) std::array<Register<uint8_t>, 2> words_of_key{};  // row w of the words' matrix, in
                                                                // all bytes of word w
};

constexpr Tables MakeTables() {
  Tables tables;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const size_t key = lane / kRows;
    for (size_t pair = 0; pair < kPairs; ++pair) {
      tables.hashes_of_pair[pair][lane] = static_cast<uint32_t>(2 * (2 * pair + key));
    }
    tables.multipliers[lane] = kProbeMultipliers[lane % kRows];
    tables.earlier_probes[lane] = key == 0 ? 0x00ff : 0xff00;
  }
  for (size_t byte = 0; byte < 64; ++byte) {
    const size_t key = byte / kHalfBytes;
    const size_t matrix = byte % kHalfBytes / kRows;
    const size_t row = byte % kRows;
    const size_t field = byte % 4;
    const size_t probe_of_two = byte % 8 / 4;
    if (field < 3) {
      tables.field_shifts[byte] =
          static_cast<uint8_t>(probe_of_two * 32 + kPositionShift + field * 3);
    }
    tables.one_at[byte] = static_cast<uint8_t>(1 << (byte % 8));
    tables.rows[byte] = static_cast<uint8_t>(key * kHalfBytes + row * 4 + matrix);
    // The instruction counts a matrix's rows from the last one: transposing turns the probes about,
    // which is the same for all matrices, and the place matrix is turned about once more.
    tables.units[byte] = static_cast<uint8_t>(matrix == kPlaceMatrix ? 0x80 >> row : 1 << row);
    for (size_t of_key = 0; of_key < 2; ++of_key) {
      tables.words_of_key[of_key][byte] =
          static_cast<uint8_t>(of_key * kHalfBytes + kWordMatrix * kRows + byte / kRows);
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

// The bytes of a register that hold rows of probes.
uint64_t RowsOfProbes(int probes) {
  const uint64_t rows = (uint64_t{1} << probes) - 1;
  const uint64_t of_key = rows << (kPlaceMatrix * kRows) | rows << (kByteMatrix * kRows) |
                          rows << (kWordMatrix * kRows);
  return of_key | of_key << kHalfBytes;
}

WINNOW_GFNI_INLINE inline __m512i Load(const void* from) { return _mm512_loadu_si512(from); }

// The transposed matrices of the two keys whose hash's lower half is in all lanes of their half.
WINNOW_GFNI_INLINE inline __m512i MatricesOf(__m512i hashes, __mmask64 rows) {
  const __m512i products = _mm512_mullo_epi32(hashes, Load(kTables.multipliers.data()));
  const __m512i positions = _mm512_and_si512(products, _mm512_set1_epi32(-(1 << kPositionShift)));
  const __mmask16 is_new = _mm512_testn_epi32_mask(_mm512_conflict_epi32(positions),
                                                   Load(kTables.earlier_probes.data()));
  const __m512i fields =
      _mm512_maskz_multishift_epi64_epi8(kAll, Load(kTables.field_shifts.data()), products);
  const __m512i ones = _mm512_maskz_permutexvar_epi8(kAll, fields, Load(kTables.one_at.data()));
  const __m512i matrices = _mm512_maskz_permutexvar_epi8(rows, Load(kTables.rows.data()),
                                                         _mm512_maskz_mov_epi32(is_new, ones));
  return _mm512_gf2p8affine_epi64_epi8(Load(kTables.units.data()), matrices, 0);
}

// The bits that key 0 or 1 of a pair sets in its block.
template <size_t kKey>
WINNOW_GFNI_INLINE inline __m512i BitsOf(__m512i matrices) {
  constexpr size_t kFirst = kKey * (kHalfBytes / kRows);
  const auto in_all_words = [matrices](size_t matrix) WINNOW_GFNI_INLINE {
    return _mm512_maskz_permutexvar_epi64(static_cast<__mmask8>(kAll),
                                          _mm512_set1_epi64(static_cast<int64_t>(kFirst + matrix)),
                                          matrices);
  };
  const __m512i words =
      _mm512_maskz_permutexvar_epi8(kAll, Load(kTables.words_of_key[kKey].data()), matrices);
  return _mm512_gf2p8affine_epi64_epi8(_mm512_and_si512(words, in_all_words(kByteMatrix)),
                                       in_all_words(kPlaceMatrix), 0);
}

WINNOW_GFNI_INLINE inline void SetBits(uint8_t* block, __m512i bits) {
  _mm512_storeu_si512(block, _mm512_or_si512(Load(block), bits));
}

}  // namespace

// Other processors find conflicts in one lane after the other.
const bool kHasGfni =
    __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0 &&
    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
    __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
    __builtin_cpu_supports("gfni") != 0;

WINNOW_GFNI void FillBlocksGfni(const MutableBlockTable& table, const uint64_t* hashes,
                                size_t count) {
  const __mmask64 rows = RowsOfProbes(table.probes);
  size_t begin = 0;
  for (; begin + kGroup <= count; begin += kGroup) {
    const BlocksOfGroup<kGroup> blocks(table, hashes + begin, kGroup, count - begin);
    // Eight hashes in one register, taken out again two at a time.
    const __m512i group = Load(hashes + begin);
#pragma GCC unroll 4
    for (size_t pair = 0; pair < kPairs; ++pair) {
      const __m512i matrices = MatricesOf(
          _mm512_maskz_permutexvar_epi32(static_cast<__mmask16>(kAll),
                                         Load(kTables.hashes_of_pair[pair].data()), group),
          rows);
      SetBits(blocks[2 * pair], BitsOf<0>(matrices));
      SetBits(blocks[2 * pair + 1], BitsOf<1>(matrices));
    }
  }
  // The last few keys.
  AddToBlocksPortable(table, hashes + begin, count - begin);
}

#undef WINNOW_GFNI_INLINE
#undef WINNOW_GFNI

}  // namespace winnow::filter::internal

#endif  // defined(__x86_64__)
