/* Key files, and what is printed of a key. */
#include "comm/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "comm/keys_pair.h"

enum { KEY_LENGTH = KEY_TEXT - 1, KEY_FILE_MAX = 4096 };

#define Z85 "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

int
key_is_text(const char *text, size_t n)
{
	if (n != KEY_LENGTH)
		return 0;
	for (size_t i = 0; i < KEY_LENGTH; i += 5) {
		uint64_t value = 0;

		for (size_t j = 0; j < 5; j++) {
			const char c = text[i + j];
			const char *at = c != '\0' ? strchr(Z85, c) : NULL;

			if (at == NULL)
				return 0;
			value = 85 * value + (uint64_t)(at - Z85);
		}
		if (value > UINT32_MAX)
			return 0;
	}
	return 1;
}

struct key_word
key_next_word(const char *line, size_t n, size_t *at)
{
	struct key_word word;

	while (*at < n && (line[*at] == ' ' || line[*at] == '\t' || line[*at] == '\r'))
		++*at;
	word = (struct key_word){ .text = line + *at, .column = *at + 1 };
	while (*at < n && line[*at] != ' ' && line[*at] != '\t' && line[*at] != '\r')
		++*at;
	word.n = *at + 1 - word.column;
	return word;
}

/* `public = Z85`; no comment behind it, as a key may contain '#'. */
static enum rs_status
take_pair_line(const char *path, size_t number, const char *line, size_t n, struct key_pair *out)
{
	size_t at = 0;
	const struct key_word name = key_next_word(line, n, &at);
	const struct key_word equals = key_next_word(line, n, &at);
	const struct key_word key = key_next_word(line, n, &at);
	const struct key_word rest = key_next_word(line, n, &at);
	char *to;

	if (name.n == 0 || name.text[0] == '#')
		return RS_OK;
	if (name.n == 6 && memcmp(name.text, "public", 6) == 0)
		to = out->public_key;
	else if (name.n == 6 && memcmp(name.text, "secret", 6) == 0)
		to = out->secret_key;
	else
		return rs_fail_at(RS_EDENIED, path, number, name.column,
			"expected 'public = KEY' or 'secret = KEY'");
	if (equals.n != 1 || equals.text[0] != '=')
		return rs_fail_at(RS_EDENIED, path, number, equals.column, "expected '='");
	if (!key_is_text(key.text, key.n) || rest.n > 0)
		return rs_fail_at(RS_EDENIED, path, number, key.column,
			"expected a key of 40 characters of Z85 and nothing else");
	if (to[0] != '\0')
		return rs_fail_at(RS_EDENIED, path, number, name.column,
			"the second key of its kind");
	memcpy(to, key.text, KEY_LENGTH);
	return RS_OK;
}

static enum rs_status
parse_pair(const char *path, const char *text, size_t n, struct key_pair *out)
{
	size_t number = 1;

	for (size_t begin = 0; begin < n; number++) {
		const char *newline = memchr(text + begin, '\n', n - begin);
		const size_t end = newline != NULL ? (size_t)(newline - text) : n;

		RS_TRY(take_pair_line(path, number, text + begin, end - begin, out));
		begin = end + 1;
	}
	if (out->public_key[0] == '\0' || out->secret_key[0] == '\0')
		return rs_fail_at(RS_EDENIED, path, 0, 0, "no '%s' line",
			out->public_key[0] == '\0' ? "public" : "secret");
	return key_pair_check(path, out);
}

static int
is_in_group(gid_t wanted)
{
	const int n = getgroups(0, NULL);
	gid_t *group;
	int found = wanted == getegid();

	if (found || n <= 0 || memory_alloc((size_t)n, sizeof(*group), &group) != RS_OK)
		return found;
	for (int i = getgroups(n, group); i-- > 0;)
		found |= group[i] == wanted;
	free(group);
	return found;
}

/* As secrets are mounted for a group (fsGroup of a pod): a file of the system's that nobody
 * writes, and that besides the system only the group of this process reads. */
static int
is_mounted_secret(const struct stat *s)
{
	return s->st_uid == 0 && (s->st_mode & 07777) == 0440 && is_in_group(s->st_gid);
}

/* Nobody else may have seen a secret. */
static enum rs_status
check_mode(const char *path, int fd)
{
	struct stat s;

	if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
		return rs_fail(RS_ENOINPUT, "'%s' is not a file", path);
	if ((s.st_mode & 077) != 0 && !is_mounted_secret(&s)) {
		rs_fail(RS_EDENIED, "the key file '%s' has mode %04o, expected 0600", path,
			(unsigned)s.st_mode & 07777);
		return rs_hint("others may have read it: make a new pair, or chmod 600 it");
	}
	if (s.st_uid != geteuid() && s.st_uid != 0)
		return rs_fail(RS_EDENIED, "the key file '%s' belongs to user %lu", path,
			(unsigned long)s.st_uid);
	return RS_OK;
}

/* Not file_read(): this text is wiped. */
static enum rs_status
read_secret(const char *path, int fd, char text[KEY_FILE_MAX + 1], size_t *n)
{
	for (*n = 0; *n <= KEY_FILE_MAX; ) {
		const ssize_t got = read(fd, text + *n, KEY_FILE_MAX + 1 - *n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return rs_fail(RS_EIO, "cannot read '%s': %s", path, strerror(errno));
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	if (*n > KEY_FILE_MAX)
		return rs_fail(RS_EDENIED, "'%s' is no key file: it has more than %d bytes", path,
			KEY_FILE_MAX);
	text[*n] = '\0';
	return RS_OK;
}

enum rs_status
key_pair_read(const char *path, struct key_pair *out)
{
	char text[KEY_FILE_MAX + 1];
	size_t n = 0;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum rs_status status;

	*out = (struct key_pair){ { 0 }, { 0 } };
	if (fd < 0)
		return rs_fail(errno == EACCES ? RS_EDENIED : file_status_of(errno, RS_ENOINPUT),
			"cannot open the key file '%s': %s", path, strerror(errno));
	if ((status = check_mode(path, fd)) == RS_OK &&
	    (status = read_secret(path, fd, text, &n)) == RS_OK)
		status = parse_pair(path, text, n, out);
	explicit_bzero(text, sizeof(text));
	close(fd);
	if (status != RS_OK)
		key_pair_wipe(out);
	return status;
}

/* A new file, whole or absent. */
static enum rs_status
write_new(const char *path, mode_t mode, const char *text)
{
	const size_t n = strlen(text);
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int failed;

	if (fd < 0 && errno == EEXIST) {
		rs_fail(RS_ECREATE, "'%s' exists", path);
		return rs_hint("a key is never overwritten: choose another name");
	}
	if (fd < 0)
		return rs_fail(file_status_of(errno, RS_ECREATE), "cannot create '%s': %s", path,
			strerror(errno));
	failed = write(fd, text, n) != (ssize_t)n || fsync(fd) != 0;
	failed |= close(fd) != 0;
	if (failed) {
		const int cause = errno;

		unlink(path);
		return rs_fail(RS_EIO, "cannot write '%s': %s", path, strerror(cause));
	}
	return RS_OK;
}

static enum rs_status
sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 :
		(size_t)(slash - path));
	enum rs_status status = RS_ERESOURCE;

	if (parent != NULL)
		status = file_sync_directory(parent);
	else
		rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", strlen(path));
	free(parent);
	return status;
}

static enum rs_status
write_files(const char *path, const char *public_path, const struct key_pair *k)
{
	char text[2 * (sizeof("public = \n") + KEY_LENGTH)];
	enum rs_status status;

	snprintf(text, sizeof(text), "public = %s\nsecret = %s\n", k->public_key, k->secret_key);
	status = write_new(path, 0600, text);
	explicit_bzero(text, sizeof(text));
	RS_TRY(status);
	snprintf(text, sizeof(text), "public = %s\n", k->public_key);
	status = write_new(public_path, 0644, text);
	if (status != RS_OK)
		unlink(path);
	return status;
}

enum rs_status
key_pair_write(const char *path, struct key_pair *out)
{
	char *public_path;
	enum rs_status status = key_pair_make(out);

	RS_TRY(status);
	if (asprintf(&public_path, "%s.pub", path) < 0) {
		key_pair_wipe(out);
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", strlen(path) + 5);
	}
	status = write_files(path, public_path, out);
	if (status == RS_OK)
		status = sync_parent(path);
	free(public_path);
	if (status != RS_OK)
		key_pair_wipe(out);
	return status;
}

void
key_pair_wipe(struct key_pair *k)
{
	explicit_bzero(k, sizeof(*k));
}

void
key_id(const char *public_key, char out[9])
{
	const uint64_t hash = hash_fingerprint64(public_key, strlen(public_key));

	snprintf(out, 9, "%02x:%02x:%02x", (unsigned)(hash >> 56), (unsigned)(hash >> 48 & 255),
		(unsigned)(hash >> 40 & 255));
}
