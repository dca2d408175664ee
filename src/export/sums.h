/*
 * crc32c.txt of a directory: the CRC32C, the bytes and the name of files in it, a line each,
 * and last the CRC32C of the lines before.
 */
#ifndef EXPORT_SUMS_H
#define EXPORT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SUMS_NAME "crc32c.txt"

enum rs_status sums_of_file(const char *path, uint32_t *crc, uint64_t *bytes);
/* Of the files `name` [n] of the directory. */
enum rs_status sums_write(const char *directory, const char *const *name, size_t n);
/* The files are as they were; RS_EDATA or RS_ENOINPUT names one that is not. */
enum rs_status sums_check(const char *directory, const char *const *name, size_t n);

#endif
