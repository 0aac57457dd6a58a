#include <stdio.h>

#include "winnow/c.h"

int main(int argc, char** arguments) {
  char* err = NULL;
  size_t length = 0;
  winnow_options_t* options = winnow_options_create();
  winnow_readoptions_t* read = winnow_readoptions_create();
  winnow_writeoptions_t* write = winnow_writeoptions_create();
  winnow_t* db;
  char* value;
  if (argc < 2) return 1;
  winnow_options_set_create_if_missing(options, 1);
  winnow_options_set(options, "filter", "cuckoo:1%", &err);
  db = winnow_open(options, arguments[1], &err);
  if (db != NULL) {
    winnow_put(db, write, "key", 3, "stored value", 12, &err);
    value = winnow_get(db, read, "key", 3, &length, &err);
    if (value != NULL) printf("%.*s\n", (int)length, value);
    winnow_free(value);
    winnow_close(db);
  }
  winnow_writeoptions_destroy(write);
  winnow_readoptions_destroy(read);
  winnow_options_destroy(options);
  if (err == NULL) return 0;
  fprintf(stderr, "%s\n", err);
  winnow_free(err);
  return 1;
}
