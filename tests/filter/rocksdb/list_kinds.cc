// Prints the name of each filter kind on a line: for test scripts.

#include <cstdio>

#include "winnow/filter/spec.h"

int main() {
  for (const std::string& kind : winnow::filter::SpecKindNames()) std::puts(kind.c_str());
}
