/*
 * Files that are complete or absent.
 *
 * file_writer writes to a temporary name beside PATH, takes the CRC32C of every
 * MiB as it goes, and file_writer_commit() does fsync, rename, fsync of the
 * directory.  Anything but a commit leaves PATH untouched and removes the
 * temporary file.  Who makes many files sets one_of_many and syncs their directory once.
 * A writer to memory has no name elsewhere: its path may be read from
 * the commit to the close.  file_map maps a file read-only.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define FILE_CRC_BLOCK ((size_t)1 << 20)

struct file_writer {
	int       fd;
	char     *path, *temporary;       /* temporary NULL: in memory, or committed */
	char     *block;          /* [FILE_CRC_BLOCK] not yet written      */
	size_t    block_used;
	uint64_t  size;           /* bytes given so far                    */
	uint32_t *crc;            /* [n_crc] one a MiB, the last may be short */
	size_t    n_crc, crc_capacity;
	int       one_of_many;    /* no fsync of the directory in the commit */
};

/* RS_ECREATE: what has the name, or what that links to, is no file, and a file that takes it would
 * remove it: /dev/null, /dev/stdout. */
enum rs_status file_may_replace(const char *path);
enum rs_status file_writer_open(struct file_writer *w, const char *path);
enum rs_status file_writer_open_memory(struct file_writer *w);
enum rs_status file_writer_write(struct file_writer *w, const void *bytes, size_t n);
enum rs_status file_writer_commit(struct file_writer *w);   /* keeps size and crc   */
void file_writer_close(struct file_writer *w);              /* aborts if not committed; frees */

/* Of an errno: too many files are open, or there is no memory, which says nothing of what is there:
 * RS_ERESOURCE, never an absence. */
int file_is_shortage(int error);
/* RS_ERESOURCE of such an errno, else as said. */
enum rs_status file_status_of(int error, enum rs_status otherwise);

struct file_map {
	const char *data;
	size_t      size;
};

/* RS_EDENIED: this user may not read it; RS_ENOINPUT: it is not there, or no file; RS_ERESOURCE:
 * too many files are open, or there is no memory. */
enum rs_status file_map_open(struct file_map *m, const char *path);
void file_map_close(struct file_map *m);

/* Whole small file, NUL-terminated; caller frees.  RS_EDATA: longer than limit; else as above. */
enum rs_status file_read(const char *path, size_t limit, char **text, size_t *n);
/* Writes a small file in one atomic step. */
enum rs_status file_replace(const char *path, const void *bytes, size_t n);
enum rs_status file_make_directories(const char *path);
enum rs_status file_sync_directory(const char *path);
enum rs_status file_remove_tree(const char *path);
/* Bytes of the files of a directory, those of directories in it left out. */
enum rs_status file_directory_bytes(const char *path, uint64_t *bytes);
/* "a/b" of ("a","b"); an absolute second part wins; caller frees. */
enum rs_status file_join(const char *directory, const char *name, char **out);

#endif
