// Values by which groups of entries can be found without reading the entries. The owner of a column
// family (DBImpl::ReserveForOwner) may say which entries are a group and which of their values
// stand for it; each SSTable then keeps a signature of each group, and a search for values reads
// those first.
#ifndef WINNOW_ENGINE_BASE_SIGNED_ENTRY_H_
#define WINNOW_ENGINE_BASE_SIGNED_ENTRY_H_

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// What a value of the store says. All of it points into the entry.
struct SignedEntry {
  // What the keys of the group begin with, and no other keys: groups are in the order of keys, and
  // in bytewise order.
  std::string_view group;
  bool has_value = false;  // of a field
  std::string_view field;
  std::string_view value;
};

// False: the entry is none of the owner's, and may mean anything.
using SignedEntryParser = bool (*)(std::string_view user_key, std::string_view value,
                                   SignedEntry* parsed);

// The fields whose values signatures are made of, ascending, each once.
using SignedFields = std::vector<std::string>;

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_SIGNED_ENTRY_H_
