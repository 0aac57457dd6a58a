"""As somebody's binding loads LevelDB: by its name, with an FFI alone. load_leveldb.py DATABASE"""

import ctypes
import sys

library = ctypes.CDLL("libleveldb.so.1")
library.leveldb_options_create.restype = ctypes.c_void_p
library.leveldb_readoptions_create.restype = ctypes.c_void_p
library.leveldb_writeoptions_create.restype = ctypes.c_void_p
library.leveldb_open.restype = ctypes.c_void_p
library.leveldb_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
library.leveldb_put.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
                                ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
library.leveldb_get.restype = ctypes.c_void_p
library.leveldb_get.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
                                ctypes.c_void_p, ctypes.c_void_p]

error = ctypes.c_char_p()
options = ctypes.c_void_p(library.leveldb_options_create())
library.leveldb_options_set_create_if_missing(options, 1)
db = library.leveldb_open(options, sys.argv[1].encode(), ctypes.byref(error))
if error.value:
    sys.exit(error.value.decode())
library.leveldb_put(db, library.leveldb_writeoptions_create(), b"key", 3, b"stored value", 12,
                    ctypes.byref(error))
length = ctypes.c_size_t()
value = library.leveldb_get(db, library.leveldb_readoptions_create(), b"key", 3,
                            ctypes.byref(length), ctypes.byref(error))
if error.value:
    sys.exit(error.value.decode())
print(ctypes.string_at(value, length.value).decode())
library.leveldb_free(ctypes.c_void_p(value))
library.leveldb_close(ctypes.c_void_p(db))
