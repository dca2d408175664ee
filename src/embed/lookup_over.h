/*
 * A lookup over another one, to which it leaves all that has the same arguments and is not its
 * own to do.  What is over begins with a struct lookup_over and puts these into its ops.
 */
#ifndef EMBED_LOOKUP_OVER_H
#define EMBED_LOOKUP_OVER_H

#include "embed/lookup.h"

struct lookup_over {
	struct lookup base;
	struct lookup *under;
};

enum rs_status lookup_over_pull(struct lookup *l, const struct lookup_pull *p);
enum rs_status lookup_over_save(struct lookup *l, size_t table, struct file_writer *w);
enum rs_status lookup_over_load(struct lookup *l, size_t table, const char *const *path,
	size_t n_paths);
enum rs_status lookup_over_save_tenancy(struct lookup *l, size_t table, struct file_writer *w);
enum rs_status lookup_over_load_tenancy(struct lookup *l, size_t table,
	const char *const *path, size_t n_paths);
enum rs_status lookup_over_tenants(struct lookup *l, size_t table, struct lookup_tenants *out);
enum rs_status lookup_over_save_delta(struct lookup *l, size_t table,
	const struct lookup_step *step, struct file_writer *w);
enum rs_status lookup_over_load_delta(struct lookup *l, size_t table,
	const struct lookup_step *step, const char *path);
int lookup_over_knows_changes(struct lookup *l, size_t table);
void lookup_over_forget_changes(struct lookup *l);
void lookup_over_reset_state(struct lookup *l, size_t table);
int lookup_over_touched(const struct lookup *l, size_t table, uint64_t id);

#endif
