// A search for groups of entries by their values, over a view of one column family.
#ifndef WINNOW_ENGINE_DB_SIGNATURE_SEARCH_H_
#define WINNOW_ENGINE_DB_SIGNATURE_SEARCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "engine/base/counter.h"
#include "engine/column_family/read_view.h"
#include "engine/events/event_queue.h"
#include "engine/statistics/recorder.h"
#include "engine/version/group_search.h"

namespace winnow {

// Made by DBImpl::SearchSignatures; destroyed before the database is closed. Used by one thread at
// a time.
class SignatureSearch {
 public:
  SignatureSearch(std::shared_ptr<const ReadView> view, GroupQuestion question, Recorder* recorder,
                  EventQueue* events);
  // What the search has cost is counted now.
  ~SignatureSearch();
  SignatureSearch(const SignatureSearch&) = delete;
  SignatureSearch& operator=(const SignatureSearch&) = delete;

  // False: no SSTable has signatures that could be asked.
  bool Start(const SstableReadOptions& options);

  // To the next group that may have all the values, the first at first. False: there is none, or
  // status() says why. Groups come in order; those that are written meanwhile may come or not. May
  // throw std::bad_alloc.
  bool Next() { return search_.Next(); }
  const std::string& group() const { return search_.group(); }
  // Groups whose signature was looked at so far, in each SSTable that has one.
  uint64_t num_asked() const { return findings_.signatures_asked; }
  const absl::Status& status() const { return search_.status(); }

 private:
  const std::shared_ptr<const ReadView> view_;
  Recorder& recorder_;
  EventQueue& events_;
  // Not the thread's: the search may move from one to another.
  ReadCounters reads_;
  GroupSearch::Findings findings_;
  uint64_t num_refused_ = 0;
  GroupSearch search_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_SIGNATURE_SEARCH_H_
