"""An address book in Python, with nothing but the standard library: ctypes calls winnow/c.h.

    python3 address_book.py /usr/lib/libwinnow.so.0
"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libwinnow.so.0")
HANDLE, BYTES, SIZE, ERROR = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
                              ctypes.POINTER(ctypes.c_void_p))


def function(name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


options_create = function("winnow_options_create", HANDLE)
options_set = function("winnow_options_set", None, HANDLE, BYTES, BYTES, ERROR)
read_options_create = function("winnow_readoptions_create", HANDLE)
write_options_create = function("winnow_writeoptions_create", HANDLE)
open_database = function("winnow_open", HANDLE, HANDLE, BYTES, ERROR)
close_database = function("winnow_close_checked", None, HANDLE, ERROR)
put = function("winnow_put", None, HANDLE, HANDLE, BYTES, SIZE, BYTES, SIZE, ERROR)
get = function("winnow_get", HANDLE, HANDLE, HANDLE, BYTES, SIZE, ctypes.POINTER(SIZE), ERROR)
free = function("winnow_free", None, HANDLE)


def call(function_of_the_library, *arguments):
    """Adds the error argument; raises what it brings back."""
    error = ctypes.c_void_p()
    result = function_of_the_library(*arguments, ctypes.byref(error))
    if error.value:
        text = ctypes.string_at(error).decode()
        free(error)
        raise OSError(text)
    return result


class AddressBook:
    def __init__(self, path):
        options = options_create()
        for name, value in {"create_if_missing": "true", "filter": "cuckoo:0.1%"}.items():
            call(options_set, options, name.encode(), value.encode())
        self.read, self.write = read_options_create(), write_options_create()
        self.database = call(open_database, options, path.encode())

    def __setitem__(self, name, number):
        key, value = name.encode(), number.encode()
        call(put, self.database, self.write, key, len(key), value, len(value))

    def get(self, name):
        key, length = name.encode(), SIZE()
        value = call(get, self.database, self.read, key, len(key), ctypes.byref(length))
        if not value:
            return None
        try:
            return ctypes.string_at(value, length.value).decode()
        finally:
            free(value)

    def close(self):
        call(close_database, self.database)


book = AddressBook("address_book_py.db")
book["Ada"] = "555-0101"
book["Grace"] = "555-0102"
print("Ada:", book.get("Ada"))
print("Alan:", book.get("Alan"))
try:
    AddressBook("address_book_py.db")
except OSError as error:
    print("opened twice:", str(error).split(":")[0])
book.close()
