/* An address book in C: put, get, walk, look into the filters.
   gcc address_book.c $(pkg-config --cflags --libs winnow) */
#include <stdio.h>
#include <string.h>

#include "winnow/c.h"

/* Prints the error, if there is one, and forgets it. */
static int failed(char** err) {
  if (*err == NULL) return 0;
  fprintf(stderr, "%s\n", *err);
  winnow_free(*err);
  *err = NULL;
  return 1;
}

static void look_up(winnow_t* db, const winnow_readoptions_t* read, const char* name) {
  char* err = NULL;
  size_t length = 0;
  char* number = winnow_get(db, read, name, strlen(name), &length, &err);
  if (failed(&err)) return;
  if (number == NULL) {
    printf("%s: not here\n", name);
  } else {
    printf("%s: %.*s\n", name, (int)length, number);
  }
  winnow_free(number);
}

int main(void) {
  static const char* const entries[][2] = {
      {"Grace", "555-0102"}, {"Ada", "555-0101"}, {"Edsger", "555-0103"}};
  char* err = NULL;
  size_t i;
  winnow_options_t* options = winnow_options_create();
  winnow_writeoptions_t* write = winnow_writeoptions_create();
  winnow_readoptions_t* read = winnow_readoptions_create();
  winnow_iterator_t* entry;
  winnow_t* db;

  winnow_options_set_create_if_missing(options, 1);
  winnow_options_set(options, "filter", "cuckoo:0.1%", &err);
  db = winnow_open(options, "address_book.db", &err);
  if (failed(&err)) return 1;

  for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
    winnow_put(db, write, entries[i][0], strlen(entries[i][0]), entries[i][1],
               strlen(entries[i][1]), &err);
  }
  winnow_flush(db, &err); /* into an SSTable with its filter */
  if (failed(&err)) return 1;

  look_up(db, read, "Ada");
  look_up(db, read, "Alan");
  entry = winnow_create_iterator(db, read);
  for (winnow_iter_seek_to_first(entry); winnow_iter_valid(entry); winnow_iter_next(entry)) {
    size_t length;
    const char* key = winnow_iter_key(entry, &length);
    printf("- %.*s\n", (int)length, key);
  }
  winnow_iter_get_error(entry, &err);
  winnow_iter_destroy(entry);
  failed(&err);

  winnow_close_checked(db, &err);
  winnow_readoptions_destroy(read);
  winnow_writeoptions_destroy(write);
  winnow_options_destroy(options);
  return failed(&err);
}
