/*
 * CURVE key pairs and the list of who may join, both as files.
 *
 * A key file has mode 0600, or 0440 when it is root's and of a group of this process, as
 * secrets are mounted in pods (RS_EDENIED else), and two lines, `public = Z85` and `secret =
 * Z85`; keygen writes it and FILE.pub, the public line alone.  A list has lines `NAME
 * ROLE[,ROLE] Z85`, # comments.  Secrets are wiped when freed and never printed; what is
 * printed of a key is its id, the first bytes of its hash, "4f:2a:91".
 */
#ifndef COMM_KEYS_H
#define COMM_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define KEY_TEXT 41                 /* 40 characters of Z85 and a NUL                 */

#define KEY_ROLE_TABLE(ROW) \
	ROW(COORDINATOR, "coordinator") \
	ROW(PS,          "ps") \
	ROW(WORKER,      "worker") \
	ROW(MONITOR,     "monitor")

enum key_role_number {
#define ROW(name, text) KEY_NUMBER_##name,
	KEY_ROLE_TABLE(ROW)
#undef ROW
	KEY_N_ROLES
};
enum key_role {
#define ROW(name, text) KEY_##name = 1 << KEY_NUMBER_##name,
	KEY_ROLE_TABLE(ROW)
#undef ROW
	KEY_ALL_ROLES = (1 << KEY_N_ROLES) - 1
};

struct key_pair { char public_key[KEY_TEXT], secret_key[KEY_TEXT]; };

struct key_entry { char name[64]; uint32_t roles; char public_key[KEY_TEXT]; };
struct key_list  { struct key_entry *entry; size_t n; };

/* RS_EUSAGE when the program was built without CURVE. */
enum rs_status key_pair_make(struct key_pair *out);
enum rs_status key_pair_read(const char *path, struct key_pair *out);
/* Makes a pair and writes PATH and PATH.pub; RS_ECREATE when PATH exists. */
enum rs_status key_pair_write(const char *path, struct key_pair *out);
void key_pair_wipe(struct key_pair *k);
/* Not 0: 40 characters of Z85 that are 32 bytes. */
int  key_is_text(const char *text, size_t n);
void key_id(const char *public_key, char out[9]);

/* RS_EDENIED at FILE:LINE:COLUMN when it is malformed or has a key twice. */
enum rs_status key_list_read(const char *path, struct key_list *out);
/* The same of n bytes; path is for messages. */
enum rs_status key_list_parse(const char *path, const char *text, size_t n, struct key_list *out);
enum rs_status key_list_add(struct key_list *l, const char *name, uint32_t roles,
	const char *public_key);
const struct key_entry *key_list_find(const struct key_list *l, const char *public_key);
void key_list_free(struct key_list *l);
const char *key_role_name(enum key_role role);
/* 0: there is no such role. */
uint32_t key_role_parse(const char *text, size_t n);

#endif
