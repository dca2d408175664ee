/* Rows of exact tables that came and went in a run: counted and told. */
#include <inttypes.h>

#include "base/log.h"
#include "train/ranks.h"
#include "train/train_private.h"

/*
 * What came and went in exact tables, of each to the log.  Counted before the best
 * weights come back, whose lookup knows nothing of it; then only the rows are theirs.
 */
void
train_count_tenants(struct training *t)
{
	struct lookup_tenants *const sum = &t->summary->tenants, one;
	const struct model *const m = t->m;
	const int again = t->summary->n_exact > 0;

	if (m != NULL)
		sum->rows = 0;
	for (size_t i = 0; m != NULL && i < m->n_tables; i++) {
		if (m->table[i].kind != TABLE_EXACT || !ranks_lead(t->options->place))
			continue;
		if (m->lookup->ops->tenants(m->lookup, i, &one) != RS_OK) {
			log_warn("rows of exact tables are not counted: %s", rs_failure()->text);
			return;
		}
		sum->rows += one.rows;
		sum->clock = one.clock;
		if (again) {
			log_info("table '%s': %" PRIu64 " rows of the best epoch", m->table[i].name,
				one.rows);
			continue;
		}
		log_info("table '%s': %" PRIu64 " rows; %" PRIu64 " admitted, %" PRIu64
			" waiting, %" PRIu64 " refused, %" PRIu64 " evicted, %" PRIu64 " expired",
			m->table[i].name, one.rows, one.admitted, one.waiting, one.refused,
			one.evicted, one.expired);
		t->summary->n_exact++;
		lookup_tenants_add(sum, &one);
	}
	if (!again && t->summary->n_exact > 0 && m->step > 0 && sum->clock == 0
	    && t->settings->embedding.expire_after > 0 && ranks_lead(t->options->place))
		log_warn("no row had a time that can be read: none expires; check data.time");
	if (!again && t->n_later > 0 && ranks_lead(t->options->place))
		log_warn("%" PRIu64 " rows are later than the middle row of their batch by more "
			"than a tenth of embedding.expire_after: they are trained, but by these "
			"times no row expires", t->n_later);
	t->n_later = 0;
}
