/* The placement as text for people and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "place/placement.h"

static const char *const consistency_text[] = {
	[CONSISTENCY_SYNC] = "sync", [CONSISTENCY_SSP] = "ssp", [CONSISTENCY_ASYNC] = "async",
};

static const char *const policy_text[] = {
	[POLICY_AUTO] = "auto", [POLICY_RECORD] = "record", [POLICY_FILE] = "file",
};

static const char *const compress_text[] = {
	[COMPRESS_AUTO] = "auto", [COMPRESS_NONE] = "none", [COMPRESS_FP16] = "fp16",
	[COMPRESS_INT8] = "int8",
};

/* "129 MiB", "0.21 M": three digits and a unit. */
static const char *
scaled(char out[32], double x, double base, const char *const unit[])
{
	size_t u = 0;

	if (isnan(x))
		return "n.a.";
	for (; unit[u + 1] != NULL && x >= base; u++)
		x /= base;
	snprintf(out, 32, "%.*f%s", u == 0 || x >= 100 ? 0 : x >= 10 ? 1 : 2, x, unit[u]);
	return out;
}

static const char *
bytes_text(char out[32], double x)
{
	static const char *const unit[] = { " B", " KiB", " MiB", " GiB", " TiB", NULL };

	return scaled(out, x, 1024, unit);
}

static const char *
count_text(char out[32], double x)
{
	static const char *const unit[] = { "", " k", " M", " G", " T", NULL };

	return scaled(out, x, 1000, unit);
}

static enum rs_status
print_model(const struct placement *p, struct buffer *out)
{
	char tables[32], dense[32], all[32], bytes[32], dense_bytes[32];

	RS_TRY(buffer_printf(out, "model      %zu tables %s   dense %s   total %s parameters\n",
		p->n_tables, count_text(tables, (double)p->embedding_params),
		count_text(dense, (double)p->dense_params),
		count_text(all, (double)(p->embedding_params + p->dense_params))));
	return buffer_printf(out, "bytes      tables %s   dense %s   with optimizer state; "
		"embeddings %.1f %%\n", bytes_text(bytes, (double)p->embedding_bytes),
		bytes_text(dense_bytes, (double)p->dense_bytes), 100 * p->embedding_share);
}

static enum rs_status
print_tables(const struct placement *p, struct buffer *out)
{
	char bytes[32], keys[32], occurrences[32];

	RS_TRY(buffer_printf(out, "%-24s %12s %5s %10s %6s %11s %9s\n", "table", "rows", "dim",
		"bytes", "shards", "ids a step", "keys"));
	for (size_t i = 0; i < p->n_tables; i++) {
		const struct placement_table *t = &p->table[i];

		RS_TRY(buffer_printf(out, "%-24s %12" PRIu64 " %5zu %10s %6zu %11s %9s\n", t->name,
			t->rows, t->dim, bytes_text(bytes, (double)t->bytes),
			p->n_ps > 0 ? t->n_parts : 0, count_text(occurrences, t->occurrences),
			count_text(keys, t->keys)));
	}
	return RS_OK;
}

static enum rs_status
print_shards(const struct placement *p, struct buffer *out)
{
	char bytes[32], rows[32], keys[32], pull[32], push[32];
	double pull_sum = 0, push_sum = 0;

	if (p->n_ps == 0)
		return RS_OK;
	for (size_t i = 0; i < p->n_ps; i++) {
		const struct placement_shard *s = &p->shard[i];

		RS_TRY(buffer_printf(out, "shard %-4zu %s rows   %s", i,
			count_text(rows, (double)s->rows), bytes_text(bytes, (double)s->bytes)));
		if (!isnan(s->keys))
			RS_TRY(buffer_printf(out, "   a step: %s keys, pull %s, push %s",
				count_text(keys, s->keys), bytes_text(pull, s->pull_bytes),
				bytes_text(push, s->push_bytes)));
		RS_TRY(buffer_printf(out, "\n"));
		pull_sum += s->pull_bytes;
		push_sum += s->push_bytes;
	}
	RS_TRY(buffer_printf(out, "balance    largest shard / mean %.3f\n", p->balance));
	if (isnan(pull_sum))            /* no rows were looked at                     */
		return RS_OK;
	RS_TRY(buffer_printf(out, "traffic    a step of %.0f rows: pull %s, push %s",
		p->rows_a_step, bytes_text(pull, pull_sum), bytes_text(push, push_sum)));
	if (!isnan(p->steps_a_second))
		RS_TRY(buffer_printf(out, "; about %.1f steps/s: pull %s/s, push %s/s",
			p->steps_a_second, bytes_text(keys, pull_sum * p->steps_a_second),
			bytes_text(bytes, push_sum * p->steps_a_second)));
	return buffer_printf(out, "\n");
}

/* Tables larger than memory. */
static enum rs_status
print_spilled(const struct placement *p, struct buffer *out)
{
	char memory[32], disk[32];

	if (p->spill_bytes == 0)
		return RS_OK;
	return buffer_printf(out, "spill      tables of a worker take %s of memory, and up to %s "
		"in %s\n", bytes_text(memory, (double)p->table_bytes),
		bytes_text(disk, (double)p->spill_bytes), p->spill);
}

static enum rs_status
print_memory(const struct placement *p, struct buffer *out)
{
	char worker[32], shard[32], host[32];

	RS_TRY(print_spilled(p, out));

	RS_TRY(buffer_printf(out, "memory     worker about %s",
		bytes_text(worker, (double)p->worker_bytes)));
	if (p->n_ps > 0)
		RS_TRY(buffer_printf(out, "   shard about %s",
			bytes_text(shard, (double)p->shard_bytes)));
	if (p->memory_bytes > 0)
		RS_TRY(buffer_printf(out, "   of %s here",
			bytes_text(host, (double)p->memory_bytes)));
	return buffer_printf(out, "\n");
}

enum rs_status
placement_print(const struct placement *p, int verbose, struct buffer *out)
{
	char dense[32];

	RS_TRY(print_model(p, out));
	RS_TRY(buffer_printf(out, "placement  %s: %s\n", placement_mode_name(p->mode),
		p->why_mode));
	RS_TRY(buffer_printf(out, "processes  %zu worker%s of %zu thread%s, %zu shard%s; %zu slots "
		"a batch\n", p->n_workers, p->n_workers == 1 ? "" : "s", p->n_threads,
		p->n_threads == 1 ? "" : "s", p->n_ps, p->n_ps == 1 ? "" : "s", p->n_slots));
	RS_TRY(buffer_printf(out, "dense      %s, %s a worker and step: %s\n",
		placement_dense_name(p->dense), bytes_text(dense, p->dense_step_bytes),
		p->why_dense));
	if (p->n_workers > 1)
		RS_TRY(buffer_printf(out, "buckets    %zu: %s\n", p->n_buckets, p->why_buckets));
	if (p->n_workers > 1)
		RS_TRY(buffer_printf(out, "data       dealt by %s: %s\n",
			policy_text[p->policy.policy], p->policy.why));
	if (p->n_ps > 0)
		RS_TRY(buffer_printf(out, "rows       %s%.0d, gradients as %s\n",
			consistency_text[p->consistency],
			p->consistency == CONSISTENCY_SSP ? (int)p->staleness : 0,
			p->compress == COMPRESS_NONE ? "fp32" : compress_text[p->compress]));
	if (verbose)
		RS_TRY(print_tables(p, out));
	RS_TRY(print_shards(p, out));
	return print_memory(p, out);
}

/* --- JSON ----------------------------------------------------------------------- */

static void
json_tables(const struct placement *p, struct json *j)
{
	json_open(j, "tables", '[');
	for (size_t i = 0; i < p->n_tables; i++) {
		const struct placement_table *t = &p->table[i];

		json_open(j, NULL, '{');
		json_string(j, "name", t->name);
		json_int(j, "rows", (int64_t)t->rows);
		json_int(j, "dim", (int64_t)t->dim);
		json_int(j, "parameters", (int64_t)(t->rows * t->dim));
		json_int(j, "bytes", (int64_t)t->bytes);
		json_int(j, "shards", p->n_ps > 0 ? (int64_t)t->n_parts : 0);
		json_double(j, "ids_a_step", t->occurrences);
		json_double(j, "keys_a_step", t->keys);
		json_close(j);
	}
	json_close(j);
}

static void
json_shards(const struct placement *p, struct json *j)
{
	double pull = 0, push = 0;

	json_open(j, "shards", '[');
	for (size_t i = 0; i < p->n_ps; i++) {
		const struct placement_shard *s = &p->shard[i];

		json_open(j, NULL, '{');
		json_int(j, "rows", (int64_t)s->rows);
		json_int(j, "bytes", (int64_t)s->bytes);
		json_double(j, "keys_a_step", s->keys);
		json_double(j, "pull_bytes_a_step", s->pull_bytes);
		json_double(j, "push_bytes_a_step", s->push_bytes);
		json_close(j);
		pull += s->pull_bytes;
		push += s->push_bytes;
	}
	json_close(j);
	json_double(j, "balance", p->balance);
	json_double(j, "pull_bytes_a_step", pull);
	json_double(j, "push_bytes_a_step", push);
	json_double(j, "pull_bytes_a_second", pull * p->steps_a_second);
	json_double(j, "push_bytes_a_second", push * p->steps_a_second);
}

void
placement_json(const struct placement *p, struct json *j)
{
	json_string(j, "mode", placement_mode_name(p->mode));
	json_string(j, "why_mode", p->why_mode);
	json_string(j, "dense", placement_dense_name(p->dense));
	json_string(j, "why_dense", p->why_dense);
	json_int(j, "buckets", (int64_t)p->n_buckets);
	json_int(j, "bucket_bytes", (int64_t)p->bucket_bytes);
	json_string(j, "why_buckets", p->why_buckets);
	json_string(j, "policy", policy_text[p->policy.policy]);
	json_string(j, "why_policy", p->policy.why);
	json_string(j, "consistency", consistency_text[p->consistency]);
	json_string(j, "compress", compress_text[p->compress]);
	json_int(j, "workers", (int64_t)p->n_workers);
	json_int(j, "ps", (int64_t)p->n_ps);
	json_int(j, "threads", (int64_t)p->n_threads);
	json_int(j, "slots", (int64_t)p->n_slots);
	json_int(j, "embedding_parameters", (int64_t)p->embedding_params);
	json_int(j, "dense_parameters", (int64_t)p->dense_params);
	json_int(j, "embedding_bytes", (int64_t)p->embedding_bytes);
	json_int(j, "dense_bytes", (int64_t)p->dense_bytes);
	json_double(j, "embedding_share", p->embedding_share);
	json_tables(p, j);
	json_shards(p, j);
	json_double(j, "dense_bytes_a_step", p->dense_step_bytes);
	json_double(j, "steps_a_second", p->steps_a_second);
	json_double(j, "rows_a_step", p->rows_a_step);
	json_int(j, "table_memory_bytes", (int64_t)p->table_bytes);
	json_int(j, "spill_bytes", (int64_t)p->spill_bytes);
	json_int(j, "worker_bytes", (int64_t)p->worker_bytes);
	json_int(j, "shard_bytes", (int64_t)p->shard_bytes);
	json_int(j, "memory_bytes", (int64_t)p->memory_bytes);
}
