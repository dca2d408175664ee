/* The list of who may join: names, roles and public keys. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "comm/keys.h"
#include "comm/keys_pair.h"

enum { KEY_LIST_MAX = 1 << 13 };

#define KEY_LIST_BYTES_MAX ((size_t)16 << 20)

static const char *const role_name[KEY_N_ROLES] = {
#define ROW(name, text) [KEY_NUMBER_##name] = text,
	KEY_ROLE_TABLE(ROW)
#undef ROW
};

const char *
key_role_name(enum key_role role)
{
	for (size_t i = 0; i < KEY_N_ROLES; i++)
		if ((unsigned)role == 1u << i)
			return role_name[i];
	return NULL;
}

uint32_t
key_role_parse(const char *text, size_t n)
{
	for (size_t i = 0; i < KEY_N_ROLES; i++)
		if (strlen(role_name[i]) == n && memcmp(role_name[i], text, n) == 0)
			return UINT32_C(1) << i;
	return 0;
}

static int
is_name(const char *name)
{
	const size_t n = strlen(name);

	if (n == 0 || n >= sizeof(((struct key_entry *)NULL)->name))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return 0;
	return 1;
}

static enum rs_status
append(struct key_list *l, const struct key_entry *e)
{
	/* Full when n is a power of two, from 8 on. */
	if (l->n == 0 || (l->n >= 8 && (l->n & (l->n - 1)) == 0)) {
		struct key_entry *grown = reallocarray(l->entry, l->n == 0 ? 8 : 2 * l->n,
			sizeof(*grown));

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory: a list of %zu keys", l->n);
		l->entry = grown;
	}
	l->entry[l->n++] = *e;
	return RS_OK;
}

enum rs_status
key_list_add(struct key_list *l, const char *name, uint32_t roles, const char *public_key)
{
	struct key_entry e = { .roles = roles };
	const struct key_entry *twin;

	if (!is_name(name))
		return rs_fail(RS_EDENIED, "a name of 1 to %zu visible characters is expected",
			sizeof(e.name) - 1);
	if (roles == 0 || (roles & ~(uint32_t)KEY_ALL_ROLES) != 0)
		return rs_fail(RS_EDENIED, "'%s' has no known role", name);
	if (!key_is_text(public_key, strlen(public_key)))
		return rs_fail(RS_EDENIED, "the key of '%s' is not 40 characters of Z85", name);
	twin = key_list_find(l, public_key);
	if (twin != NULL)
		return rs_fail(RS_EDENIED, "the key of '%s' is that of '%s', too", name,
			twin->name);
	if (l->n == KEY_LIST_MAX)
		return rs_fail(RS_EDENIED, "a list of more than %d keys", KEY_LIST_MAX);
	memcpy(e.name, name, strlen(name));
	memcpy(e.public_key, public_key, KEY_TEXT);
	return append(l, &e);
}

/* A word that may be a key is not printed. */
static enum rs_status
unknown_role(const char *path, size_t number, size_t column, const struct key_word *role)
{
	char escaped[72];

	rs_fail_at(RS_EDENIED, path, number, column, "unknown role '%s'",
		role->n < 32 ? rs_escape(escaped, role->text, role->n) : "...");
	return rs_hint("roles are coordinator, ps, worker, monitor, with commas between");
}

static enum rs_status
parse_roles(const char *path, size_t number, const struct key_word *roles, uint32_t *out)
{
	*out = 0;
	for (size_t begin = 0; begin <= roles->n; ) {
		const char *comma = memchr(roles->text + begin, ',', roles->n - begin);
		const size_t end = comma != NULL ? (size_t)(comma - roles->text) : roles->n;
		const struct key_word role = { .text = roles->text + begin, .n = end - begin };
		const uint32_t bit = key_role_parse(role.text, role.n);

		if (bit == 0)
			return unknown_role(path, number, roles->column + begin, &role);
		*out |= bit;
		begin = end + 1;
	}
	return RS_OK;
}

/* Says where in the file the failure of key_list_add() is. */
static enum rs_status
add_at(struct key_list *l, const char *path, size_t number, const struct key_word *word,
	uint32_t roles)
{
	struct rs_failure failure;
	char name[sizeof(l->entry->name)] = { 0 }, key[KEY_TEXT] = { 0 };

	memcpy(name, word[0].text, word[0].n);
	memcpy(key, word[2].text, word[2].n);
	if (key_list_add(l, name, roles, key) == RS_OK)
		return RS_OK;
	rs_failure_take(&failure);
	return rs_fail_at(failure.status, path, number, word[0].column, "%s", failure.text);
}

static enum rs_status
take_line(struct key_list *l, const char *path, size_t number, const char *line, size_t n)
{
	size_t at = 0;
	uint32_t roles;
	struct key_word word[4];

	for (size_t i = 0; i < 4; i++)
		word[i] = key_next_word(line, n, &at);
	if (word[0].n == 0 || word[0].text[0] == '#')
		return RS_OK;
	if (word[0].n >= sizeof(l->entry->name))
		return rs_fail_at(RS_EDENIED, path, number, word[0].column,
			"a name of %zu characters, at most %zu are allowed", word[0].n,
			sizeof(l->entry->name) - 1);
	RS_TRY(parse_roles(path, number, &word[1], &roles));
	if (memchr(word[0].text, '\0', word[0].n) != NULL)
		return rs_fail_at(RS_EDENIED, path, number, word[0].column, "a byte of 0");
	if (!key_is_text(word[2].text, word[2].n))
		return rs_fail_at(RS_EDENIED, path, number, word[2].column,
			"expected a public key of 40 characters of Z85");
	if (word[3].n > 0 && word[3].text[0] != '#')
		return rs_fail_at(RS_EDENIED, path, number, word[3].column,
			"expected the end of the line after NAME ROLE KEY");
	return add_at(l, path, number, word, roles);
}

enum rs_status
key_list_parse(const char *path, const char *text, size_t n, struct key_list *out)
{
	size_t number = 1;

	*out = (struct key_list){ 0 };
	for (size_t begin = 0; begin < n; number++) {
		const char *newline = memchr(text + begin, '\n', n - begin);
		const size_t end = newline != NULL ? (size_t)(newline - text) : n;
		const enum rs_status status = take_line(out, path, number, text + begin,
			end - begin);

		if (status != RS_OK) {
			key_list_free(out);
			return status;
		}
		begin = end + 1;
	}
	return RS_OK;
}

enum rs_status
key_list_read(const char *path, struct key_list *out)
{
	char *text;
	size_t n;
	enum rs_status status;

	*out = (struct key_list){ 0 };
	RS_TRY(file_read(path, KEY_LIST_BYTES_MAX, &text, &n));
	status = key_list_parse(path, text, n, out);
	free(text);
	return status;
}

const struct key_entry *
key_list_find(const struct key_list *l, const char *public_key)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->entry[i].public_key, public_key) == 0)
			return &l->entry[i];
	return NULL;
}

void
key_list_free(struct key_list *l)
{
	free(l->entry);
	*l = (struct key_list){ 0 };
}
