// winnow/c.h: bulk loading.
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/compat/c_handles.h"

using winnow::BytesOf;
using winnow::NullIfOutOfMemory;
using winnow::ReportFrom;
using winnow::ReportToC;

namespace winnow {

namespace {

// `families` null: all files are for "default".
// The result is the sequence number that all entries got. 0 may be one (behind all others): errptr
// tells it from a failure.
uint64_t Ingest(winnow_t* db, const winnow_ingestoptions_t& options,
                winnow_columnfamily_t* const* families, const char* const* paths, size_t num_paths,
                char** errptr) {
  uint64_t sequence = 0;
  ReportFrom(errptr, [&]() -> absl::Status {
    std::vector<IngestFile> files;
    for (size_t i = 0; i < num_paths; i++) {
      files.push_back({paths[i], families == nullptr ? nullptr : families[i]->family});
    }
    WINNOW_ASSIGN_OR_RETURN(const IngestInfo info, db->db->Ingest(files, options.options));
    sequence = info.sequence;
    return absl::OkStatus();
  });
  return sequence;
}

}  // namespace

}  // namespace winnow

// The handle takes shares of the callbacks and of the file system, which the writer uses until it
// is destroyed: whoever made them may give them back at once.
winnow_sstwriter_t* winnow_sstwriter_create(const winnow_options_t* options, const char* path,
                                            char** errptr) {
  std::unique_ptr<winnow_sstwriter_t> handle;
  const bool created = ReportFrom(errptr, [&]() -> absl::Status {
    handle = std::make_unique<winnow_sstwriter_t>();
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &handle->options_kept));
    WINNOW_ASSIGN_OR_RETURN(handle->writer,
                            winnow::SstWriter::Create(prepared, path, prepared.file_system));
    return absl::OkStatus();
  });
  return created ? handle.release() : nullptr;
}

// The writer may outlive the database, as in C++. Which callbacks are the family's is not known.
winnow_sstwriter_t* winnow_sstwriter_create_cf(winnow_t* db, winnow_columnfamily_t* family,
                                               const char* path, char** errptr) {
  std::unique_ptr<winnow_sstwriter_t> handle;
  const bool created = ReportFrom(errptr, [&]() -> absl::Status {
    handle = std::make_unique<winnow_sstwriter_t>();
    handle->options_kept = db->options_kept;
    {
      winnow::MutexLock lock(&db->mutex);
      for (const KeptAlive& kept : db->families_kept) {
        handle->options_kept.insert(handle->options_kept.end(), kept.begin(), kept.end());
      }
    }
    WINNOW_ASSIGN_OR_RETURN(handle->writer, db->db->NewSstWriter(family->family, path));
    return absl::OkStatus();
  });
  return created ? handle.release() : nullptr;
}

void winnow_sstwriter_put(winnow_sstwriter_t* writer, const char* key, size_t keylen,
                          const char* val, size_t vallen, char** errptr) {
  ReportToC(writer->writer->Put(BytesOf(key, keylen), BytesOf(val, vallen)), errptr);
}

void winnow_sstwriter_delete(winnow_sstwriter_t* writer, const char* key, size_t keylen,
                             char** errptr) {
  ReportToC(writer->writer->Delete(BytesOf(key, keylen)), errptr);
}

void winnow_sstwriter_finish(winnow_sstwriter_t* writer, char** errptr) {
  ReportToC(writer->writer->Finish().status(), errptr);
}

uint64_t winnow_sstwriter_file_bytes(const winnow_sstwriter_t* writer) {
  return writer->writer->file_bytes();
}

// The way to give up: the writer removes a file that was not finished.
void winnow_sstwriter_destroy(winnow_sstwriter_t* writer) { delete writer; }

winnow_ingestoptions_t* winnow_ingestoptions_create(void) {
  return NullIfOutOfMemory([] { return new winnow_ingestoptions_t; });
}

void winnow_ingestoptions_destroy(winnow_ingestoptions_t* options) { delete options; }

void winnow_ingestoptions_set_move(winnow_ingestoptions_t* options, uint8_t value) {
  options->options.move = value != 0;
}

void winnow_ingestoptions_set_behind(winnow_ingestoptions_t* options, uint8_t value) {
  options->options.behind = value != 0;
}

void winnow_ingestoptions_set_verify(winnow_ingestoptions_t* options, uint8_t value) {
  options->options.verify = value != 0;
}

uint64_t winnow_ingest(winnow_t* db, const winnow_ingestoptions_t* options,
                       const char* const* paths, size_t num_paths, char** errptr) {
  return winnow::Ingest(db, *options, nullptr, paths, num_paths, errptr);
}

uint64_t winnow_ingest_cf(winnow_t* db, const winnow_ingestoptions_t* options,
                          winnow_columnfamily_t* const* families, const char* const* paths,
                          size_t num_paths, char** errptr) {
  return winnow::Ingest(db, *options, families, paths, num_paths, errptr);
}
