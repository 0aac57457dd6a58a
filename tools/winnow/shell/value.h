// The values of the shell's language: literals of Ruby, as HBase's shell takes them.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_VALUE_H_
#define WINNOW_TOOLS_WINNOW_SHELL_VALUE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace winnow::shell {

struct ValuePair;

struct Value {
  enum class Type {
    kNil,
    kBoolean,
    kInteger,
    kText,  // quoted: any bytes
    kWord,  // not quoted: a constant's name, as VERSIONS
    kList,
    kHash,
  };

  Type type = Type::kNil;
  bool boolean = false;
  int64_t integer = 0;
  std::string text;                // of kText and kWord
  std::vector<Value> items;        // of kList
  std::vector<ValuePair> entries;  // of kHash, in the order in which they stand

  static Value Text(std::string text);
  bool Is(Type wanted) const { return type == wanted; }
};

struct ValuePair {
  Value key;
  Value value;
};

// Here, where what a Value consists of is complete.
inline Value Value::Text(std::string text) {
  Value value;
  value.type = Type::kText;
  value.text = std::move(text);
  return value;
}

// One line of the shell: get 't', 'r', {VERSIONS => 3}.
struct CommandLine {
  std::string name;
  std::vector<Value> arguments;  // what is written `KEY => VALUE` without braces is a last hash
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_VALUE_H_
