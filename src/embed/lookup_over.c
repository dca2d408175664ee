/* What a lookup over another one leaves to it. */
#include "embed/lookup_over.h"

static struct lookup *
under(const struct lookup *l)
{
	return ((const struct lookup_over *)l)->under;
}

enum rs_status
lookup_over_pull(struct lookup *l, const struct lookup_pull *p)
{
	return under(l)->ops->pull(under(l), p);
}

enum rs_status
lookup_over_save(struct lookup *l, size_t table, struct file_writer *w)
{
	return under(l)->ops->save(under(l), table, w);
}

enum rs_status
lookup_over_load(struct lookup *l, size_t table, const char *const *path, size_t n_paths)
{
	return under(l)->ops->load(under(l), table, path, n_paths);
}

enum rs_status
lookup_over_save_tenancy(struct lookup *l, size_t table, struct file_writer *w)
{
	return under(l)->ops->save_tenancy(under(l), table, w);
}

enum rs_status
lookup_over_load_tenancy(struct lookup *l, size_t table, const char *const *path, size_t n_paths)
{
	return under(l)->ops->load_tenancy(under(l), table, path, n_paths);
}

enum rs_status
lookup_over_tenants(struct lookup *l, size_t table, struct lookup_tenants *out)
{
	return under(l)->ops->tenants(under(l), table, out);
}

enum rs_status
lookup_over_save_delta(struct lookup *l, size_t table, const struct lookup_step *step,
	struct file_writer *w)
{
	return under(l)->ops->save_delta(under(l), table, step, w);
}

enum rs_status
lookup_over_load_delta(struct lookup *l, size_t table, const struct lookup_step *step,
	const char *path)
{
	return under(l)->ops->load_delta(under(l), table, step, path);
}

int
lookup_over_knows_changes(struct lookup *l, size_t table)
{
	return under(l)->ops->knows_changes(under(l), table);
}

void
lookup_over_forget_changes(struct lookup *l)
{
	under(l)->ops->forget_changes(under(l));
}

void
lookup_over_reset_state(struct lookup *l, size_t table)
{
	under(l)->ops->reset_state(under(l), table);
}

int
lookup_over_touched(const struct lookup *l, size_t table, uint64_t id)
{
	return under(l)->ops->touched(under(l), table, id);
}
