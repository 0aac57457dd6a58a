// The columns by whose values rows are found (FamilySchema::signature): what the store is told of
// them.
#ifndef WINNOW_ENGINE_TABLE_SIGNED_COLUMNS_H_
#define WINNOW_ENGINE_TABLE_SIGNED_COLUMNS_H_

#include <string_view>

#include "absl/status/status.h"
#include "engine/base/signed_entry.h"
#include "winnow/table.h"

namespace winnow {

// InvalidArgument says what is wrong with the list. An empty one is right.
absl::Status CheckSignature(std::string_view signature);
// The qualifiers of a list that is right, as they stand in keys.
SignedFields SignedFieldsOf(const FamilySchema& schema);

// A SignedEntryParser: groups are rows, fields qualifiers, both escaped. Versions have values.
[[nodiscard]] bool ParseSignedCell(std::string_view key, std::string_view stored,
                                   SignedEntry* parsed);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_SIGNED_COLUMNS_H_
