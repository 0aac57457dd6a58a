// What a thread must hold before it touches state that is spread over several classes of one
// database, in a form that clang's -Wthread-safety checks (a role, in the words of its
// documentation).
//
// One mutex guards the versions, the column families, the busy flags of SSTables and more, in four
// folders. Each class could keep a pointer to it, but the analysis compares expressions, not
// addresses: it cannot see that two pointers are the same mutex. So the capability is one name for
// all of them. The price: it does not tell the mutex of one database from another's, which no code
// outside of tests ever holds at the same time.
#ifndef WINNOW_ENGINE_BASE_CAPABILITIES_H_
#define WINNOW_ENGINE_BASE_CAPABILITIES_H_

#include "absl/base/thread_annotations.h"

namespace winnow {

class ABSL_LOCKABLE Capability {};

// Held by the thread that has locked the DatabaseMutex of the database (database_mutex.h).
inline Capability database_mutex;

// Held shared by those who insert into memtables, the leader and the members of each group that is
// in the log and not yet visible (write/publish_queue.h); others may lead meanwhile. Held alone by
// a leader who has waited until nobody inserts: only then may memtables be switched and the set of
// column families change.
inline Capability memtable_insertion ABSL_ACQUIRED_BEFORE(database_mutex);

// Held by the thread that leads the write queue, alone (write/write_queue.h): it may append to the
// log and assign sequence numbers.
//
// What is changed only with this and database_mutex held may be read with either: such members are
// guarded by database_mutex, and one accessor, which says so, reads them for the leader. The same
// goes for memtable_insertion.
inline Capability write_leadership ABSL_ACQUIRED_BEFORE(memtable_insertion);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_CAPABILITIES_H_
