/* Loads each library that is named, all names in view of the next, and uses a database of its own
   through each, in turns: what one library makes, no other may handle. Each argument is
   PREFIX=LIBRARY, PREFIX being that of its C functions: winnow or leveldb. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxLibraries = 8 };

typedef struct {
  const char* prefix;
  void* library;
  void* db;
  void* read_options;
  void* write_options;
} Library;

static void Fail(const char* what, const char* about) {
  fprintf(stderr, "%s: %s\n", what, about);
  exit(1);
}

static void* Find(const Library* library, const char* name) {
  char whole[64];
  void* function;
  snprintf(whole, sizeof(whole), "%s_%s", library->prefix, name);
  function = dlsym(library->library, whole);
  if (function == NULL) Fail("not found", whole);
  return function;
}

/* Calls through pointers of these types: the interfaces differ in the prefix alone. */
typedef void* (*Create)(void);
typedef void (*SetFlag)(void*, unsigned char);
typedef void* (*Open)(void*, const char*, char**);
typedef void (*Put)(void*, void*, const char*, size_t, const char*, size_t, char**);
typedef char* (*Get)(void*, void*, const char*, size_t, size_t*, char**);
typedef void (*Free)(void*);

static void OpenDatabase(Library* library, char* argument, int number) {
  char path[32];
  char* err = NULL;
  void* options;
  char* equals = strchr(argument, '=');
  if (equals == NULL) Fail("not PREFIX=LIBRARY", argument);
  *equals = '\0';
  library->prefix = argument;
  library->library = dlopen(equals + 1, RTLD_NOW | RTLD_GLOBAL);
  if (library->library == NULL) Fail("dlopen", dlerror());
  options = ((Create)Find(library, "options_create"))();
  ((SetFlag)Find(library, "options_set_create_if_missing"))(options, 1);
  library->read_options = ((Create)Find(library, "readoptions_create"))();
  library->write_options = ((Create)Find(library, "writeoptions_create"))();
  snprintf(path, sizeof(path), "db%d", number);
  library->db = ((Open)Find(library, "open"))(options, path, &err);
  if (err != NULL) Fail(equals + 1, err);
  ((Free)Find(library, "options_destroy"))(options);
}

/* Each database has a value of its own under the same key. */
static void PutValue(const Library* library, int number) {
  char value[32];
  char* err = NULL;
  snprintf(value, sizeof(value), "value %d", number);
  ((Put)Find(library, "put"))(library->db, library->write_options, "key", 3, value, strlen(value),
                              &err);
  if (err != NULL) Fail("put", err);
}

static void CheckValue(const Library* library, int number) {
  char wanted[32];
  char* err = NULL;
  size_t length = 0;
  char* value =
      ((Get)Find(library, "get"))(library->db, library->read_options, "key", 3, &length, &err);
  snprintf(wanted, sizeof(wanted), "value %d", number);
  if (err != NULL) Fail("get", err);
  if (value == NULL || length != strlen(wanted) || memcmp(value, wanted, length) != 0) {
    Fail("another value than", wanted);
  }
  ((Free)Find(library, "free"))(value);
}

int main(int argc, char** argv) {
  Library libraries[kMaxLibraries];
  const int count = argc - 1;
  int i;
  if (count < 1 || count > kMaxLibraries) return 2;
  for (i = 0; i < count; i++) OpenDatabase(&libraries[i], argv[i + 1], i);
  for (i = 0; i < count; i++) PutValue(&libraries[i], i);
  for (i = 0; i < count; i++) CheckValue(&libraries[i], i);
  for (i = 0; i < count; i++) {
    ((Free)Find(&libraries[i], "close"))(libraries[i].db);
    ((Free)Find(&libraries[i], "readoptions_destroy"))(libraries[i].read_options);
    ((Free)Find(&libraries[i], "writeoptions_destroy"))(libraries[i].write_options);
  }
  printf("%d databases\n", count);
  return 0;
}
