/*
 * SavedModels of TensorFlow: saved_model.pb, when there are variables variables/, and
 * inputs.json (export/inputs_json.h); crc32c.txt (export/sums.h) has the sums of saved_model.pb
 * and inputs.json.
 *
 * Inputs are raw (export/tf_front.h): text is hashed in the graph.  Several programs of one
 * model are signatures of one graph; fields and tables are there once.  Tables of more than
 * `inline_bytes` in all are variables in a TensorBundle, else constants of the graph.
 */
#ifndef EXPORT_SAVEDMODEL_H
#define EXPORT_SAVEDMODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "export/program.h"

#define SAVEDMODEL_INLINE_BYTES ((uint64_t)64 << 20)

struct savedmodel_signature { const char *name; const struct program *program; };

/* Into a directory that exists; *has_variables tells where the tables are. */
enum rs_status savedmodel_write(const struct savedmodel_signature *signature, size_t n,
	const char *directory, uint64_t inline_bytes, int *has_variables);

/* saved_model.pb and inputs.json are as they were written; variables are checked as they are
 * read. */
enum rs_status savedmodel_check(const char *directory);

/* One signature of a directory read back: its program, behind what hashes and transforms. */
struct savedmodel;
enum rs_status savedmodel_read(const char *directory, const char *signature,
	struct savedmodel **out);
void savedmodel_close(struct savedmodel *s);
const struct program *savedmodel_program(const struct savedmodel *s);
/* For struct program_feed; context is the struct savedmodel. */
const float *savedmodel_row(void *context, size_t table, uint64_t id);

#endif
