"""Prints libwinnow.version: which names of the static libraries libwinnow.so shows.

    python3 tools/package/version_script.py build/release/lib/libwinnow.a \\
        build/release/lib/libwinnow_filter.a > tools/package/libwinnow.version

Shown are winnow/c.h and every function, class and variable that a public C++ header declares. Run
it when a public header has new names, then tests/install/exported_symbols_test.sh with --write.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = ("engine/include/winnow/*.h", "filter/include/winnow/filter/**/*.h")
TYPE = re.compile(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s+)?(\w+)(?:\s+final)?"
                  r"\s*(?::[^:{][^{;]*)?\{")
SYMBOL = re.compile(r"[0-9a-f]* *[A-Za-z] (.*)")
VARIABLE = re.compile(r"\bextern const \w+ (\w+);")
TYPE_INFORMATION = re.compile(r"(?:vtable|typeinfo|typeinfo name) for (winnow::.*)")


def public_text():
    text = "\n".join(path.read_text(encoding="utf-8")
                     for pattern in PUBLIC for path in sorted(ROOT.glob(pattern)))
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def defined_symbols(libraries):
    for library in libraries:
        listed = subprocess.run(["nm", "--demangle", "--defined-only", library], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        for line in listed.splitlines():
            symbol = SYMBOL.match(line)
            if symbol and "(anonymous" not in symbol.group(1):
                yield symbol.group(1)


def public_names(libraries):
    """Functions, classes, classes with virtual functions and variables, by qualified names."""
    text = public_text()
    types = set(TYPE.findall(text))
    names_of_variables = set(VARIABLE.findall(text))
    functions, classes, polymorphic, variables = set(), set(), set(), set()
    for symbol in defined_symbols(libraries):
        information = TYPE_INFORMATION.match(symbol)
        if information:
            if information.group(1).split("::")[-1] in types:
                polymorphic.add(information.group(1))
            continue
        name = re.sub(r"\[abi:\w+\]", "", symbol).split("(")[0]
        qualified = re.match(r"(winnow(?:::filter)?(?:::internal)?)::(\w+)(::)?", name)
        if not qualified or "<" in name:
            continue
        whole = f"{qualified.group(1)}::{qualified.group(2)}"
        if qualified.group(3):
            if qualified.group(2) in types:
                classes.add(whole)
        elif qualified.group(2) in names_of_variables:
            variables.add(whole)
        elif re.search(rf"\b{qualified.group(2)}\(", text):
            functions.add(whole)
    return functions, classes, polymorphic, variables


def main():
    functions, classes, polymorphic, variables = public_names(sys.argv[1:])
    print("/* What libwinnow.so shows: winnow/c.h, and what the public C++ headers declare. Written "
          "by\n   version_script.py. */\nWINNOW_0.1 {\n global:\n  winnow_*;\n  extern \"C++\" {")
    for name in sorted(functions):
        print(f"    {name}?*;")
    for name in sorted(classes):
        print(f"    {name}::*;")
    for name in sorted(polymorphic):
        print(f"    vtable?for?{name}; typeinfo*for?{name};")
    for name in sorted(variables):
        print(f"    {name};")
    print("  };\n local:\n  *;\n};")


if __name__ == "__main__":
    main()
