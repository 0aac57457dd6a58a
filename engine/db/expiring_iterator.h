// Entries with write times as readers see them.
#ifndef WINNOW_ENGINE_DB_EXPIRING_ITERATOR_H_
#define WINNOW_ENGINE_DB_EXPIRING_ITERATOR_H_

#include <memory>

#include "engine/base/internal_iterator.h"
#include "engine/base/write_time.h"

namespace winnow {

// The moment of which an iterator shows the data: its user's last seek, and not those that it makes
// itself on the way, of which there are more or fewer as the data lies.
struct IteratorMoment {
  TimeToLive ttl;
  ExpiryMoment moment;

  void Renew() { moment = ExpiryMoment(ttl); }
};

// Shows the entries of `input`, those with a write time as the plain values, or the deletions of
// their keys, that they are at the moment, which must outlive the iterator.
std::unique_ptr<InternalIterator> NewExpiringIterator(std::unique_ptr<InternalIterator> input,
                                                      const ExpiryMoment* moment);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_EXPIRING_ITERATOR_H_
