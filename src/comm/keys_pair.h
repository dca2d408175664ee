/*
 * Of keys, what is shared within comm: words of lines, and what needs the library,
 * which is in keys_zmq.c with libzmq and in keys_none.c without (all is RS_EUSAGE).
 */
#ifndef COMM_KEYS_PAIR_H
#define COMM_KEYS_PAIR_H

#include "comm/keys.h"

/* RS_EDENIED, at path, unless the public key is that of the secret one. */
enum rs_status key_pair_check(const char *path, const struct key_pair *k);

struct key_word { const char *text; size_t n, column; };    /* column from 1         */

/* The word at *at, which moves behind it; n = 0 at the end of the line. */
struct key_word key_next_word(const char *line, size_t n, size_t *at);

#endif
