#include "tests/engine/corruption/corruption_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/log/log_reader.h"
#include "engine/sstable/filter_file.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/filter/reader.h"

namespace winnow {
namespace {

using Kind = Corruption::Kind;

constexpr uint64_t kPieceBytes = 512;

// Of a filter block that is cut into units these alone are read: its header and its trailer are a
// frame around them.
void AddUnits(const std::string& name, uint64_t begin, uint64_t end, std::vector<FilePart>* parts) {
  const uint64_t units = begin + filter::kFilterBlockHeaderBytes;
  const uint64_t trailer = end - kBlockTrailerBytes;
  parts->push_back({absl::StrCat(name, " frame"), begin, units});
  parts->push_back({absl::StrCat(name, " units"), units, trailer});
  parts->push_back({absl::StrCat(name, " frame"), trailer, end});
}

std::vector<FilePart> PartsOfTable(FileSystem& disk, const std::string& path, uint64_t size) {
  std::vector<FilePart> parts;
  auto file = disk.OpenRandomAccess(path);
  const auto reader = SstableReader::Open({}, *std::move(file), path);
  if (!reader.ok()) std::abort();
  const bool has_units = !(*reader)->ReadProperties()->filter_units.empty();
  const absl::Status visited = (*reader)->ForEachBlock([&](const SstableBlockInfo& block) {
    if (has_units && block.kind == BlockKind::kFilter) {
      return AddUnits("SSTable filter", block.offset, block.offset + block.stored_bytes, &parts);
    }
    parts.push_back({absl::StrCat("SSTable ", std::string(BlockKindName(block.kind))), block.offset,
                     block.offset + block.stored_bytes});
  });
  if (!visited.ok()) std::abort();
  std::erase_if(parts, [&](const FilePart& part) { return part.end > size - kFooterBytes; });
  parts.push_back({"SSTable footer", size - kFooterBytes, size});
  return parts;
}

std::vector<FilePart> PartsOfLog(FileSystem& disk, const std::string& path, uint64_t number,
                                 const std::string& kind, uint64_t size) {
  std::vector<FilePart> parts = {{kind, 0, kLogFileHeaderBytes}};
  const auto reader = LogReader::Open(disk, path, number, LogRecoveryMode::kStrict);
  if (!reader.ok()) std::abort();
  std::string_view payload;
  uint64_t offset = 0;
  while ((*reader)->Read(&payload, &offset).value()) {
    parts.push_back({kind, offset, offset + kLogRecordHeaderBytes + payload.size()});
  }
  if (parts.back().end < size) parts.push_back({kind, parts.back().end, size});
  return parts;
}

std::vector<FilePart> PartsOfFilterFile(FileSystem& disk, const std::string& path, uint64_t size) {
  const auto file = FilterFile::Open(*disk.OpenRandomAccess(path), path, 0, 0);
  if (!file.ok()) std::abort();
  const uint64_t block = (*file)->header().filter_block().offset;
  std::vector<FilePart> parts = {{"filter file header", 0, block}};
  AddUnits("filter file", block, size, &parts);
  return parts;
}

// The number in a name such as "000012.log" or "MANIFEST-000002".
uint64_t NumberIn(const std::string& name) {
  return std::strtoull(name.c_str() + name.find_first_of("0123456789"), nullptr, 10);
}

bool IsTable(const std::string& name) { return absl::EndsWith(name, ".sst"); }
bool AreOfOneKind(const std::string& a, const std::string& b) { return IsTable(a) == IsTable(b); }

void AddFlips(const std::string& name, const std::string& bytes, bool every_bit,
              std::mt19937_64& random, std::vector<Corruption>* plan) {
  for (uint64_t i = 0; i < bytes.size(); i++) {
    const uint64_t one_bit = random() % 8;
    for (uint64_t bit = 0; bit < 8; bit++) {
      if (every_bit || bit == one_bit) {
        plan->push_back({Kind::kFlip, name, i, i + 1, "", 0, bit});
      }
    }
  }
}

// Every length near the ends of the file and of its parts, and every 13th.
void AddTruncations(const std::string& name, const std::string& bytes,
                    const std::vector<FilePart>& parts, std::vector<Corruption>* plan) {
  for (uint64_t length = 0; length < bytes.size(); length++) {
    bool chosen = length < 40 || bytes.size() - length < 140 || length % 13 == 0;
    for (const FilePart& part : parts) chosen |= length + 2 > part.begin && length < part.begin + 2;
    if (chosen) plan->push_back({Kind::kTruncate, name, length, bytes.size()});
  }
}

void AddZeros(const std::string& name, const std::string& bytes, const std::vector<FilePart>& parts,
              std::vector<Corruption>* plan) {
  for (uint64_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
    const uint64_t end = std::min<uint64_t>(begin + kPieceBytes, bytes.size());
    plan->push_back({Kind::kZero, name, begin, end});
    plan->push_back({Kind::kZero, name, begin, bytes.size()});
  }
  for (const FilePart& part : parts) {
    plan->push_back({Kind::kZero, name, part.begin, part.end});
  }
}

void AddMisplacedParts(const std::string& name, const FileParts& all,
                       std::vector<Corruption>* plan) {
  const std::vector<FilePart>& parts = all.at(name);
  for (const auto& [other, other_parts] : all) {
    if (!AreOfOneKind(name, other)) continue;
    if (name != other) plan->push_back({Kind::kReplace, name, 0, 0, other});
    for (const FilePart& from : other_parts) {
      for (const FilePart& to : parts) {
        if (name == other && from.begin == to.begin) continue;
        const uint64_t length = std::min(from.end - from.begin, to.end - to.begin);
        plan->push_back({Kind::kCopy, name, to.begin, to.begin + length, other, from.begin});
        if (name == other && from.begin > to.begin) {
          plan->push_back({Kind::kSwap, name, to.begin, to.begin + length, other, from.begin});
        }
      }
    }
  }
}

}  // namespace

FileParts PartsOf(const Files& files) {
  const auto disk = Restore(files);
  FileParts parts;
  for (const auto& [name, bytes] : files) {
    const std::string path = absl::StrCat("/db/", name);
    if (IsTable(name)) {
      parts[name] = PartsOfTable(*disk, path, bytes.size());
    } else if (absl::EndsWith(name, ".flt")) {
      parts[name] = PartsOfFilterFile(*disk, path, bytes.size());
    } else if (absl::EndsWith(name, ".log")) {
      parts[name] = PartsOfLog(*disk, path, NumberIn(name), "write-ahead log", bytes.size());
    } else if (absl::StartsWith(name, "MANIFEST-")) {
      parts[name] = PartsOfLog(*disk, path, NumberIn(name), "manifest", bytes.size());
    } else if (name == "CURRENT" || name == "STATISTICS") {
      parts[name] = {{name, 0, bytes.size()}};
    }
  }
  return parts;
}

std::string Corruption::ToString() const {
  switch (kind) {
    case Kind::kFlip:
      return absl::StrCat("flip bit ", value, " of byte ", begin, " of ", file);
    case Kind::kTruncate:
      return absl::StrCat("cut ", file, " of ", end, " bytes to ", begin);
    case Kind::kZero:
      return absl::StrCat("zero ", file, " from ", begin, " to ", end);
    case Kind::kSwap:
      return absl::StrCat("swap ", begin, " to ", end, " of ", file, " with ", source_offset);
    case Kind::kCopy:
      return absl::StrCat("copy ", source_file, " at ", source_offset, " over ", file, " from ",
                          begin, " to ", end);
    case Kind::kReplace:
      return absl::StrCat("put ", source_file, " in the place of ", file);
    case Kind::kRandomize:
      return absl::StrCat("garbage in ", file, " from ", begin, " to ", end, ", seed ", value);
    case Kind::kErase:
      return absl::StrCat("erase ", begin, " to ", end, " of ", file);
    case Kind::kInsert:
      return absl::StrCat("insert ", end - begin, " bytes into ", file, " at ", begin, ", seed ",
                          value);
  }
  return "unknown damage";
}

Files Corruption::Apply(const Files& files) const {
  Files damaged = files;
  std::string& bytes = damaged[file];
  std::mt19937_64 random(value);
  switch (kind) {
    case Kind::kFlip:
      bytes[begin] = static_cast<char>(bytes[begin] ^ (1 << value));
      break;
    case Kind::kTruncate:
      bytes.resize(begin);
      break;
    case Kind::kZero:
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
      break;
    case Kind::kSwap: {
      const uint64_t length = std::min({end - begin, source_offset - begin,
                                        static_cast<uint64_t>(bytes.size()) - source_offset});
      const std::string first = bytes.substr(begin, length);
      bytes.replace(begin, length, bytes.substr(source_offset, length));
      bytes.replace(source_offset, length, first);
      break;
    }
    case Kind::kCopy:
      bytes.replace(begin, end - begin, files.at(source_file).substr(source_offset, end - begin));
      break;
    case Kind::kReplace:
      bytes = files.at(source_file);
      break;
    case Kind::kRandomize:
      for (uint64_t i = begin; i < end; i++) bytes[i] = static_cast<char>(random());
      break;
    case Kind::kErase:
      bytes.erase(begin, end - begin);
      break;
    case Kind::kInsert: {
      std::string inserted(end - begin, '\0');
      for (char& byte : inserted) byte = static_cast<char>(random());
      bytes.insert(begin, inserted);
      break;
    }
  }
  return damaged;
}

void Corruption::DamagedRange(const Files& files, uint64_t* first, uint64_t* last) const {
  const std::string& before = files.at(file);
  const std::string after = Apply(files).at(file);
  const uint64_t common = std::min(before.size(), after.size());
  *first = 0;
  while (*first < common && before[*first] == after[*first]) ++*first;
  *last = std::max(before.size(), after.size());
  if (before.size() == after.size()) {
    while (*last > *first && before[*last - 1] == after[*last - 1]) --*last;
  }
}

std::vector<Corruption> EnumerateCorruptions(const Files& files, const FileParts& parts,
                                             uint64_t seed, bool every_bit) {
  std::vector<Corruption> plan;
  std::mt19937_64 random(seed);
  for (const auto& [name, parts_of_file] : parts) {
    AddFlips(name, files.at(name), every_bit, random, &plan);
    AddTruncations(name, files.at(name), parts_of_file, &plan);
    AddZeros(name, files.at(name), parts_of_file, &plan);
    AddMisplacedParts(name, parts, &plan);
  }
  return plan;
}

Corruption RandomCorruption(const Files& files, const FileParts& parts, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&]() -> const std::string& {
    auto file = parts.begin();
    std::advance(file, random() % parts.size());
    return file->first;
  };
  constexpr std::array<Kind, 7> kKinds = {Kind::kFlip,  Kind::kTruncate,  Kind::kZero,  Kind::kCopy,
                                          Kind::kErase, Kind::kRandomize, Kind::kInsert};
  Corruption corruption;
  corruption.kind = kKinds.at(random() % kKinds.size());
  corruption.file = pick();
  const uint64_t size = files.at(corruption.file).size();
  corruption.begin = random() % size;
  const uint64_t most = uint64_t{1} << random() % 11;
  corruption.end = std::min(size, corruption.begin + 1 + random() % most);
  corruption.value = corruption.kind == Kind::kFlip ? random() % 8 : random();
  if (corruption.kind == Kind::kTruncate) corruption.end = size;
  if (corruption.kind == Kind::kCopy) {
    corruption.source_file = pick();
    const uint64_t source_size = files.at(corruption.source_file).size();
    corruption.source_offset = random() % source_size;
    corruption.end =
        std::min(corruption.end, corruption.begin + source_size - corruption.source_offset);
  }
  return corruption;
}

}  // namespace winnow
