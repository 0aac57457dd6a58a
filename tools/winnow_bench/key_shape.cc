#include "tools/winnow_bench/key_shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/winnow_bench/random.h"

namespace winnow::bench {
namespace {

constexpr std::array<KeyShapeName, 5> kShapes = {{
    {"db_bench", KeyShape::kDbBench, "number, big-endian, padded with '0' to key_size"},
    {"shared_prefix", KeyShape::kSharedPrefix,
     "user:00000012345, key_size bytes; the first 8 hardly differ"},
    {"url", KeyShape::kUrl,
     "https://www.bagule.org/blog/0640-block-key-level.html, 48 to 65 bytes"},
    {"uuid", KeyShape::kUuid,
     "36 random characters (version 4), so that fillseq is one more random fill"},
    {"composite", KeyShape::kComposite,
     "tenant, device, time: integers of 4, 8 and 8 bytes, big-endian"},
}};

// Decimal digits with leading zeros; higher digits than there is room for are dropped.
void WriteDecimal(uint64_t number, size_t digits, char* out) {
  for (size_t i = digits; i-- > 0; number /= 10) out[i] = static_cast<char>('0' + number % 10);
}

constexpr std::string_view kUserPrefix = "user:";

void WriteSharedPrefix(size_t key_bytes, uint64_t number, std::string* key) {
  key->resize(key_bytes);
  std::memcpy(key->data(), kUserPrefix.data(), kUserPrefix.size());
  WriteDecimal(number, key_bytes - kUserPrefix.size(), key->data() + kUserPrefix.size());
}

// --- URLs: a site's pages in sections; what orders them comes before what varies freely ---

constexpr std::string_view kScheme = "https://www.";
// A site's name is three syllables of consonant and vowel, in alphabetical order.
constexpr std::string_view kConsonants = "bcdfghjklmnpqrstvwxz";
constexpr std::string_view kVowels = "aeiou";
constexpr size_t kSyllables = 3;
constexpr uint64_t kSyllableKinds = kConsonants.size() * kVowels.size();
constexpr uint64_t kSites = kSyllableKinds * kSyllableKinds * kSyllableKinds;
constexpr std::array<std::string_view, 4> kDomains = {".com/", ".org/", ".net/", ".io/"};
constexpr std::array<std::string_view, 4> kSections = {"archive/", "blog/", "news/", "products/"};
static_assert(std::is_sorted(kSections.begin(), kSections.end()));
constexpr size_t kArticleDigits = 4;
constexpr uint64_t kArticles = 1024;  // of a section
constexpr uint64_t kPages = kSections.size() * kArticles;
constexpr std::array<std::string_view, 16> kWords = {
    "quick", "brown", "fox",    "jumps", "over",  "lazy",  "dog",   "storage",
    "log",   "tree",  "filter", "cache", "block", "level", "merge", "key"};
constexpr int kTitleWords = 3;
constexpr std::string_view kEnding = ".html";
constexpr size_t kLongestWord = 7;
constexpr size_t kLongestUrl = kScheme.size() + 2 * kSyllables + 5 + 9 + kArticleDigits +
                               kTitleWords * (1 + kLongestWord) + kEnding.size();

void WriteUrl(uint64_t number, std::string* key) {
  char buffer[kLongestUrl];
  char* out = buffer;
  const auto append = [&out](std::string_view text) {
    std::memcpy(out, text.data(), text.size());
    out += text.size();
  };
  append(kScheme);
  const uint64_t site = number / kPages;
  uint64_t rest = site;
  for (size_t i = kSyllables; i-- > 0; rest /= kSyllableKinds) {
    const uint64_t syllable = rest % kSyllableKinds;
    out[2 * i] = kConsonants[syllable / kVowels.size()];
    out[2 * i + 1] = kVowels[syllable % kVowels.size()];
  }
  out += 2 * kSyllables;
  append(kDomains[MixBits(site) % kDomains.size()]);
  const uint64_t page = number % kPages;
  append(kSections[page / kArticles]);
  WriteDecimal(page % kArticles, kArticleDigits, out);
  out += kArticleDigits;
  uint64_t title = MixBits(number);
  for (int i = 0; i < kTitleWords; i++, title /= kWords.size()) {
    *out++ = '-';
    append(kWords[title % kWords.size()]);
  }
  append(kEnding);
  key->assign(buffer, static_cast<size_t>(out - buffer));
}

// --- UUIDs ---

constexpr size_t kUuidBytes = 36;

void WriteHex(uint64_t bits, int digits, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = digits; i-- > 0; bits >>= 4) out[i] = kDigits[bits & 15];
}

// RFC 9562, version 4: 122 random bits. 64 of them are a permutation of the number, which keeps
// keys apart.
void WriteUuid(uint64_t number, std::string* key) {
  const uint64_t distinct = MixBits(number + 0x9e3779b97f4a7c15ULL);
  const uint64_t filling = MixBits(distinct);
  key->resize(kUuidBytes);
  char* const out = key->data();
  out[8] = out[13] = out[18] = out[23] = '-';
  WriteHex(distinct >> 32, 8, out);
  WriteHex(distinct >> 16, 4, out + 9);
  WriteHex(0x4000 | (filling & 0xfff), 4, out + 14);
  WriteHex(0x8000 | ((filling >> 12) & 0x3fff), 4, out + 19);
  WriteHex(((distinct & 0xffff) << 32) | (filling >> 32), 12, out + 24);
}

// --- Composite keys: a row of a device's measurements, one a minute ---

constexpr size_t kCompositeBytes = 4 + 8 + 8;
constexpr uint64_t kTimes = 1000;
constexpr uint64_t kDevices = 1000;  // of a tenant
constexpr uint64_t kFirstTime = 1'700'000'000'000'000;
constexpr uint64_t kMicrosPerMinute = 60'000'000;

void WriteComposite(uint64_t number, std::string* key) {
  key->resize(kCompositeBytes);
  WriteBigEndian(number / kTimes / kDevices, 4, key->data());
  WriteBigEndian(number / kTimes % kDevices, 8, key->data() + 4);
  WriteBigEndian(kFirstTime + number % kTimes * kMicrosPerMinute, 8, key->data() + 12);
}

}  // namespace

std::span<const KeyShapeName> KeyShapes() { return kShapes; }

const KeyShapeName* FindKeyShape(std::string_view name) {
  for (const KeyShapeName& shape : kShapes) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

size_t LongestKeyBytes(KeyShape shape) {
  switch (shape) {
    case KeyShape::kUrl:
      return kLongestUrl;
    case KeyShape::kUuid:
      return kUuidBytes;
    case KeyShape::kComposite:
      return kCompositeBytes;
    case KeyShape::kDbBench:
    case KeyShape::kSharedPrefix:
      return 0;
  }
  return 0;
}

double NumbersOf(KeyShape shape, size_t key_bytes) {
  constexpr double kAll = 0x1p64;
  switch (shape) {
    case KeyShape::kDbBench:
      return std::min(kAll, std::exp2(8.0 * static_cast<double>(key_bytes)));
    case KeyShape::kSharedPrefix:
      if (key_bytes <= kUserPrefix.size()) return 0;
      return std::min(kAll, std::pow(10.0, static_cast<double>(key_bytes - kUserPrefix.size())));
    case KeyShape::kUrl:
      return static_cast<double>(kSites * kPages);
    case KeyShape::kUuid:
      return kAll;
    case KeyShape::kComposite:
      return 0x1p32 * static_cast<double>(kDevices * kTimes);
  }
  return 0;
}

void WriteShapedKey(KeyShape shape, size_t key_bytes, uint64_t number, std::string* key) {
  switch (shape) {
    case KeyShape::kSharedPrefix:
      return WriteSharedPrefix(key_bytes, number, key);
    case KeyShape::kUrl:
      return WriteUrl(number, key);
    case KeyShape::kUuid:
      return WriteUuid(number, key);
    case KeyShape::kComposite:
      return WriteComposite(number, key);
    case KeyShape::kDbBench:
      return;
  }
}

}  // namespace winnow::bench
