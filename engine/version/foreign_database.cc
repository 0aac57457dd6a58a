#include "engine/version/foreign_database.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/log/log_format.h"
#include "engine/sstable/format.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

using Maker = DatabaseMaker;

// The last eight bytes of a table, little-endian (leveldb/table/format.h,
// rocksdb/table/block_based/block_based_table_builder.cc and plain/plain_table_builder.cc).
constexpr uint64_t kLevelDbTableMagic = 0xdb4775248b80fb57;
constexpr uint64_t kRocksDbBlockTableMagic = 0x88e241b785f4cff7;
constexpr uint64_t kRocksDbPlainTableMagic = 0x8242229663bf9564;
constexpr size_t kTableMagicBytes = 8;

// A record of LevelDB's logs, of which its manifests are one: checksum u32, length u16, type u8,
// payload; in RocksDB's logs that reuse files a log number u32 lies before the payload. No record
// reaches beyond a block.
constexpr size_t kForeignBlockBytes = 32768;
constexpr size_t kForeignRecordHeaderBytes = 7;
constexpr size_t kForeignLogNumberBytes = 4;
constexpr size_t kForeignTypeOffset = 6;

// CRC-32C, bit by bit: of one record, and only where a directory is not Winnow's.
uint32_t Crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

// As LevelDB stores it (leveldb/util/crc32c.h).
uint32_t MaskedCrc32c(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

bool BeginsWithForeignRecord(std::string_view block) {
  if (block.size() < kForeignRecordHeaderBytes) return false;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(block[i]); };
  // Bytes 0 to 3 are the checksum, 4 and 5 the length, 6 the type; the checksum covers all from the
  // type on.
  const size_t payload_bytes = byte(4) | static_cast<size_t>(byte(5)) << 8;
  const uint32_t checksum = DecodeFixed32(block.data());
  for (const size_t log_number_bytes : {size_t{0}, kForeignLogNumberBytes}) {
    const size_t end = kForeignRecordHeaderBytes + log_number_bytes + payload_bytes;
    if (end > block.size()) return false;
    if (checksum == MaskedCrc32c(block.substr(kForeignTypeOffset, end - kForeignTypeOffset))) {
      return true;
    }
  }
  return false;
}

Maker MakerOfLog(std::string_view begin) {
  if (begin.size() >= sizeof(kLogMagic) && DecodeFixed64(begin.data()) == kLogMagic) {
    return Maker::kWinnow;
  }
  return BeginsWithForeignRecord(begin) ? Maker::kLevelDb : Maker::kNone;
}

Maker MakerOfTable(std::string_view end) {
  if (end.size() < kTableMagicBytes) return Maker::kNone;
  switch (DecodeFixed64(end.data() + end.size() - kTableMagicBytes)) {
    case kTableMagic:
      return Maker::kWinnow;
    case kLevelDbTableMagic:
      return Maker::kLevelDb;
    case kRocksDbBlockTableMagic:
    case kRocksDbPlainTableMagic:
      return Maker::kRocksDb;
    default:
      return Maker::kNone;
  }
}

// Empty where they cannot be read: what cannot be read says nothing.
std::string ReadAt(FileSystem& file_system, const std::string& path, bool at_end, size_t length) {
  const auto file = file_system.OpenRandomAccess(path);
  if (!file.ok()) return "";
  const uint64_t size = (*file)->size();
  std::string bytes(static_cast<size_t>(std::min<uint64_t>(size, length)), '\0');
  const auto read = (*file)->Read(at_end ? size - bytes.size() : 0, bytes.size(), bytes.data());
  // Nothing where the read failed, which no test takes for a sign.
  bytes.resize(read.value_or(0));
  return bytes;
}

Maker MakerOfFile(FileSystem& file_system, const std::string& directory, const std::string& name) {
  const std::string path = absl::StrCat(directory, "/", name);
  FileType type = FileType::kLock;
  uint64_t number = 0;
  const bool has_our_name = ParseFileName(name, &type, &number);
  if (name.ends_with(".ldb") || (has_our_name && type == FileType::kSstable)) {
    return MakerOfTable(ReadAt(file_system, path, /*at_end=*/true, kFooterBytes));
  }
  if (has_our_name && (type == FileType::kManifest || type == FileType::kLog)) {
    return MakerOfLog(ReadAt(file_system, path, /*at_end=*/false, kForeignBlockBytes));
  }
  // LevelDB's CURRENT has the name alone, without Winnow's checksum behind it.
  if (has_our_name && type == FileType::kCurrent) {
    std::string text = ReadAt(file_system, path, /*at_end=*/false, kForeignBlockBytes);
    if (!text.ends_with('\n')) return Maker::kNone;
    text.pop_back();
    const bool names_manifest = ParseFileName(text, &type, &number) && type == FileType::kManifest;
    return names_manifest ? Maker::kLevelDb : Maker::kNone;
  }
  return Maker::kNone;
}

// Only RocksDB has files of these names.
bool IsRocksDbName(std::string_view name) {
  return name == "IDENTITY" || name.starts_with("OPTIONS-") || name.ends_with(".blob");
}

}  // namespace

// The files of a database that is Winnow's are not looked at: its CURRENT has a checksum.
DatabaseMaker MakerOfDatabase(FileSystem& file_system, const std::string& path) {
  if (ReadCurrentFile(file_system, path).ok()) return Maker::kWinnow;
  // Each file that could tell is read once: only where CURRENT is not Winnow's, so that no ordinary
  // opening pays for it.
  const auto names = file_system.List(path);
  if (!names.ok()) return Maker::kNone;  // whatever it is, the caller meets it too
  Maker maker = Maker::kNone;
  for (const std::string& name : *names) {
    const Maker found = MakerOfFile(file_system, path, name);
    if (found == Maker::kWinnow) return found;
    // By the order of the enumeration: a table of RocksDB tells more than a log, which LevelDB and
    // RocksDB write alike.
    maker = std::max(maker, found);
  }
  const bool is_rocksdb =
      maker == Maker::kLevelDb && std::any_of(names->begin(), names->end(), IsRocksDbName);
  return is_rocksdb ? Maker::kRocksDb : maker;
}

std::string_view MakerName(DatabaseMaker maker) {
  if (maker == Maker::kNone) return "no";
  if (maker == Maker::kWinnow) return "Winnow";
  return maker == Maker::kLevelDb ? "LevelDB" : "RocksDB";
}

absl::Status RefuseForeignDatabase(FileSystem& file_system, const std::string& path) {
  const Maker maker = MakerOfDatabase(file_system, path);
  if (maker == Maker::kNone || maker == Maker::kWinnow) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " holds a ", ToAbsl(MakerName(maker)),
                   " database, which stays as it is; `winnow import --from=",
                   maker == Maker::kRocksDb ? "rocksdb" : "leveldb", " ", path,
                   " --db=NEW` copies it into a Winnow database"));
}

}  // namespace winnow
