// A column family's schema as the shell writes and reads it.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_FAMILY_TEXT_H_
#define WINNOW_TOOLS_WINNOW_SHELL_FAMILY_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/winnow/shell/parameters.h"
#include "winnow/table.h"

namespace winnow::shell {

// "{NAME => 'f', BLOOMFILTER => 'ROW', ...}", as `create` takes it.
std::string DescribeFamily(const FamilySchema& family);

// Sets what the attributes say, but the name. Attributes of HBase that say how a family is stored,
// not what is read of it, are let pass, and named in `ignored`. InvalidArgument: unknown ones, and
// those whose meaning tables do not have.
absl::Status SetAttributes(Keywords attributes, FamilySchema* family,
                           std::vector<std::string>* ignored);

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_FAMILY_TEXT_H_
