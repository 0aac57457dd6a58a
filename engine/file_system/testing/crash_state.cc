#include "engine/file_system/testing/crash_state.h"

#include <algorithm>
#include <utility>

namespace winnow {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kSectorBytes = 512;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Not a distribution of the standard library: those give different numbers on different platforms.
bool Coin(std::mt19937_64& random) { return (random() & 1) != 0; }

}  // namespace

// The model keeps two things for each object: what is durable, and what has been done since. A
// crash decides for each of the latter whether it arrived.
//
// 1. A file's bytes: content[0, synced) is durable, the rest is not.
// 2. A directory's entries: `entries` is durable; changes wait in pending_, in their order, until
//    the directories that they concern have been synced.
// 3. Bytes and entries are independent: a durable entry may name an empty file, and a synced file
//    may have no name.
DiskModel::DiskModel(const MemoryNode& root) : root_(root.id) { AddTree(root); }

void DiskModel::AddTree(const MemoryNode& node) {
  if (!node.is_directory) {
    File& file = files_[node.id];
    file.content = node.content;
    file.synced = file.flushed = node.content.size();
    return;
  }
  Directory& directory = directories_[node.id];
  // A file with several names is taken in more than once, each time the same.
  for (const auto& [name, child] : node.entries) {
    directory.entries[name] = child->id;
    AddTree(*child);
  }
}

// Truncation is a change like any other: until the file is synced, the old bytes may come back.
// Only the first truncation since the last sync keeps them, for the later ones cut off what was
// never durable.
void DiskModel::ApplyCreate(const RecordedOperation& recorded) {
  File& file = files_[recorded.node];
  if (recorded.is_new) {
    pending_.push_back({recorded.node, {}, recorded.place, true, false});
  } else if (!file.truncated) {
    file.old_content = file.content.substr(0, file.synced);
    file.truncated = true;
  }
  file.content.clear();
  file.synced = file.flushed = file.last_append = 0;
  file.log_mode = recorded.log_mode;
  file.open = true;
}

void DiskModel::Apply(const RecordedOperation& recorded) {
  using Kind = FileOperation::Kind;
  switch (recorded.operation.kind) {
    case Kind::kCreate:
      ApplyCreate(recorded);
      break;
    case Kind::kAppend: {
      File& file = files_[recorded.node];
      file.last_append = file.content.size();
      file.content += recorded.operation.data;
      if (file.log_mode) file.flushed = file.content.size();
      last_appended_file_ = recorded.node;
      break;
    }
    // What the operating system has survives the process, and a crash of the machine by luck only.
    case Kind::kFlush:
      files_[recorded.node].flushed = files_[recorded.node].content.size();
      break;
    case Kind::kSync: {
      File& file = files_[recorded.node];
      file.synced = file.flushed = file.content.size();
      file.truncated = false;
      file.old_content.clear();
      break;
    }
    case Kind::kClose:
      files_[recorded.node].flushed = files_[recorded.node].content.size();
      files_[recorded.node].open = false;
      break;
    case Kind::kLink:
      pending_.push_back({recorded.node, {}, recorded.target_place, true, false});
      linked_.insert(recorded.node);
      break;
    case Kind::kRename:
      pending_.push_back({recorded.node, recorded.place, recorded.target_place, false, false,
                          linked_.contains(recorded.node)});
      break;
    case Kind::kRemove:
    case Kind::kRemoveDirectory:
      pending_.push_back({recorded.node, recorded.place, {}, false, true});
      break;
    case Kind::kCreateDirectory:
      directories_[recorded.node];
      pending_.push_back({recorded.node, {}, recorded.place, true, false});
      break;
    case Kind::kSyncDirectory:
      SyncDirectory(recorded.node);
      break;
    // For error hooks only: they change nothing on disk, and are not recorded.
    case Kind::kOpenForReading:
    case Kind::kRead:
    case Kind::kList:
    case Kind::kInspect:
    case Kind::kLock:
      break;
  }
}

// A rename between two directories is applied when both have been synced. Keeping it pending until
// then is stricter than any real file system, and allowed by POSIX.
void DiskModel::SyncDirectory(uint64_t directory) {
  std::vector<EntryChange> still_pending;
  for (EntryChange& change : pending_) {
    if (change.from.directory == directory) change.from_synced = true;
    if (change.to.directory == directory) change.to_synced = true;
    if (change.from_synced && change.to_synced) {
      ApplyChange(change, directories_);
    } else {
      still_pending.push_back(std::move(change));
    }
  }
  pending_ = std::move(still_pending);
}

// Changes that an earlier one led up to may be applied without it, so nothing is taken for granted
// here but that a node which was never linked has one name.
void DiskModel::ApplyChange(const EntryChange& change, Directories& directories) {
  if (change.to.name.empty()) {
    std::map<std::string, uint64_t>& entries = directories[change.from.directory].entries;
    const auto found = entries.find(change.from.name);
    // The name may stand for another file by now, if an earlier change was lost.
    if (found != entries.end() && found->second == change.node) entries.erase(found);
    return;
  }
  for (auto& [id, directory] : directories) {
    std::erase_if(directory.entries, [&, id = id](const auto& entry) {
      const bool is_old_name = id == change.from.directory && entry.first == change.from.name;
      const bool may_go = !change.from.name.empty() && (is_old_name || !change.has_other_names);
      return entry.second == change.node && may_go;
    });
  }
  directories[change.to.directory].entries[change.to.name] = change.node;
}

// The choice of which pending changes survive is made in their order, and from one generator, so
// that a seed gives one state.
std::shared_ptr<MemoryNode> DiskModel::Crash(const CrashChoice& choice) const {
  std::mt19937_64 random(choice.seed);
  Directories directories = directories_;
  for (const EntryChange& change : pending_) {
    const bool keep = choice.kind == CrashChoice::Kind::kRandomSubset
                          ? Coin(random)
                          : choice.kind != CrashChoice::Kind::kKeepNothingUnsynced;
    if (keep) ApplyChange(change, directories);
  }
  Nodes built;
  return BuildTree(root_, directories, choice, random, built);
}

std::shared_ptr<MemoryNode> DiskModel::BuildTree(uint64_t id, const Directories& directories,
                                                 const CrashChoice& choice, std::mt19937_64& random,
                                                 Nodes& built) const {
  std::shared_ptr<MemoryNode>& node = built[id];
  if (node != nullptr) return node;  // another name of the same file
  node = std::make_shared<MemoryNode>();
  node->id = id;
  const auto directory = directories.find(id);
  node->is_directory = directory != directories.end();
  if (node->is_directory) {
    for (const auto& [name, child] : directory->second.entries) {
      node->entries[name] = BuildTree(child, directories, choice, random, built);
    }
  } else {
    node->content = ContentAfterCrash(id, files_.at(id), choice, random);
  }
  return node;
}

// An open log has space reserved behind its end: after a crash it ends in zeros, up to a page
// boundary.
std::string DiskModel::ContentAfterCrash(uint64_t id, const File& file, const CrashChoice& choice,
                                         std::mt19937_64& random) const {
  const bool has_reserved_tail = file.log_mode && file.open;
  std::string content;
  switch (choice.kind) {
    case CrashChoice::Kind::kKeepNothingUnsynced:
      return file.truncated ? file.old_content : file.content.substr(0, file.synced);
    // What the operating system had, as after a kill: buffers of the process are gone.
    case CrashChoice::Kind::kKeepAll:
      content = file.content.substr(0, file.flushed);
      break;
    case CrashChoice::Kind::kTornLastAppend:
      content = file.content;
      if (id == last_appended_file_ && file.synced <= file.last_append) {
        const uint64_t length = file.content.size() - file.last_append;
        content.resize(file.last_append +
                       static_cast<uint64_t>(static_cast<double>(length) * choice.torn_fraction));
      }
      break;
    case CrashChoice::Kind::kRandomSubset:
      return RandomContent(file, random);
  }
  if (has_reserved_tail) content.resize(RoundUp(content.size() + 1, kPageBytes));
  return content;
}

// Pieces of a sector or a page, since disks write the one whole and file systems the other. A lost
// piece in the middle reads as zeros where the file system had allocated it but not written, or as
// what was in those blocks before.
std::string DiskModel::RandomContent(const File& file, std::mt19937_64& random) {
  if (file.truncated && Coin(random)) return file.old_content;
  const uint64_t piece_bytes = Coin(random) ? kSectorBytes : kPageBytes;
  const bool lost_reads_as_zeros = file.log_mode || Coin(random);
  // File systems may write a file's size before its data or after it.
  const bool length_is_kept = Coin(random);
  std::string content = file.content;
  uint64_t kept_end = file.synced;
  for (uint64_t begin = file.synced; begin < content.size();) {
    const uint64_t end = std::min<uint64_t>(RoundUp(begin + 1, piece_bytes), content.size());
    // Each piece by itself, since nothing orders write-backs before a sync: a later one may be
    // there where an earlier one is missing.
    if (Coin(random)) {
      kept_end = end;
    } else {
      for (uint64_t i = begin; i < end; i++) {
        content[i] = lost_reads_as_zeros ? '\0' : static_cast<char>(random());
      }
    }
    begin = end;
  }
  if (!length_is_kept) content.resize(kept_end);
  // The reserved tail of a log goes with Close, durably only after a later sync.
  if (file.log_mode && Coin(random)) content.resize(RoundUp(file.content.size() + 1, kPageBytes));
  return content;
}

}  // namespace winnow
