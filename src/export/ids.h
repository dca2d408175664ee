/*
 * Files of names, one a line in the order of rows; a tab, a line break or a backslash inside of
 * a name is \t, \n, \r or \\.
 */
#ifndef EXPORT_IDS_H
#define EXPORT_IDS_H

#include "base/file.h"
#include "base/status.h"
#include "export/arrays.h"

enum rs_status ids_write(const struct array_words *words, struct file_writer *file);
/* RS_EUNMET: the lines are not these names.  label: of the file in messages. */
enum rs_status ids_prove(const struct array_words *words, const char *path, const char *label);

#endif
