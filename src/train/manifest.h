/*
 * MANIFEST of a model version: the text that says what a version is and which
 * files, with size and CRC32C of every MiB, belong to it.
 *
 *     recsys-train model 1
 *     KEY = VALUE                      one of manifest.c's table each, deltas of some more
 *     file = NAME SIZE CRC CRC ...     one a file
 *     crc = CRC                        CRC32C of all text before this line
 *
 * It is written last; manifest_verify() compares every file with it.
 */
#ifndef TRAIN_MANIFEST_H
#define TRAIN_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "train/checkpoint.h"

struct manifest_file {
	char     *name;
	uint64_t  size;
	uint32_t *crc;             /* [n_crc]                                         */
	size_t    n_crc;
};

/* Of a delta the tables in files "*.delta" are what changed since the version parent. */
enum manifest_kind { MANIFEST_FULL, MANIFEST_DELTA };

struct manifest {
	uint64_t version, parent;
	enum manifest_kind kind;
	/* Of its content when it was saved, 0 none; a delta made whole keeps it.  parent_identity:
	 * of what a delta is to be applied to. */
	uint64_t identity, parent_identity;
	struct checkpoint_progress progress;
	struct manifest_file *file;    /* [n_files]                                   */
	size_t n_files;
};

void manifest_free(struct manifest *m);
/* Size and CRCs of a file just committed. */
enum rs_status manifest_add(struct manifest *m, const char *name, const struct file_writer *w);
/* Gives it an identity; nothing is to be added after this. */
enum rs_status manifest_identify(struct manifest *m);
enum rs_status manifest_write(const struct manifest *m, const char *directory);
enum rs_status manifest_read(struct manifest *out, const char *directory);
/* RS_EDATA names the first file that is missing, short or changed. */
enum rs_status manifest_verify(const struct manifest *m, const char *directory);
/* RS_EDATA: the mapped file has another size; the bytes of its MiB i another CRC. */
enum rs_status manifest_check_size(
	const struct manifest_file *f, const struct file_map *map, const char *path);
enum rs_status manifest_check_block(
	const struct manifest_file *f, size_t i, const struct file_map *map, const char *path);
/* The same of the files whose names begin so. */
enum rs_status manifest_verify_some(const struct manifest *m, const char *directory,
	const char *prefix);
int manifest_has(const struct manifest *m, const char *name);
uint64_t manifest_bytes(const struct manifest *m);

#endif
