/*
 * Files without a name: on the disk of a directory, and gone with the process, however it ends.
 */
#ifndef BASE_FILE_UNNAMED_H
#define BASE_FILE_UNNAMED_H

#include "base/file.h"
#include "base/status.h"

/* Opened for reading and writing; RS_ECREATE. */
enum rs_status file_unnamed_create(const char *directory, int *fd);
/* As file_writer_open_memory(), but it takes no memory. */
enum rs_status file_unnamed_writer(struct file_writer *w, const char *directory);

#endif
