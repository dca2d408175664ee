/* The spec of a run of many processes. */
#include "config.h"
#include "cmd/job_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "spec/option.h"

#define TEXT_LIMIT ((size_t)64 << 20)

enum rs_status
job_spec_copy(const struct spec *spec, struct spec **out)
{
	struct buffer text;

	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = spec_print(spec, 0, &text);
	if (status == RS_OK)
		status = spec_load_text(text.data, "resolved spec", out);
	buffer_free(&text);
	return status;
}

/* Standard input can be read by one process only, and only once. */
static enum rs_status
check_inputs(const struct data_settings *d, size_t n_workers)
{
	for (size_t i = 0; n_workers > 1 && i < d->train.n; i++) {
		if (d->command[0] != '\0' || strcmp(d->train.item[i], "-") != 0)
			continue;
		rs_fail(RS_EUSAGE, "%zu workers cannot share standard input: each reads all rows",
			n_workers);
		return rs_hint("write the rows to a file, or use --workers 1");
	}
	return RS_OK;
}

enum rs_status
job_spec_place(const struct spec *spec, const struct placement_host *host, struct placement *out,
	const char **kernel)
{
	const struct model_options options = { .for_training = 1, .shape_only = 1 };
	struct model *shape;
	struct spec *copy;

	RS_TRY(job_spec_copy(spec, &copy));
	RS_TRY(model_create(copy, &options, &shape));
	enum rs_status status = placement_make(shape, host, out);
	*kernel = shape->kernel->name;
	model_free(shape);
	RS_TRY(status);
	status = check_inputs(&spec_settings(spec)->data, out->n_workers);
	if (status != RS_OK)
		placement_free(out);
	return status;
}

enum rs_status
job_spec_settle(const struct spec *spec, const struct placement *p, struct spec **out)
{
	static const char *const compress[] = {
		[COMPRESS_AUTO] = "auto", [COMPRESS_NONE] = "none", [COMPRESS_FP16] = "fp16",
		[COMPRESS_INT8] = "int8",
	};
	char workers[32], ps[32], bucket[32];

	snprintf(workers, sizeof workers, "%zu", p->n_workers);
	snprintf(ps, sizeof ps, "%zu", p->n_ps);
	snprintf(bucket, sizeof bucket, "%" PRIu64, p->bucket_bytes);
	const struct { const char *section, *key, *value; } set[] = {
		{ "placement", "mode", placement_mode_name(p->mode) },
		{ "placement", "dense",
		  p->asks_for_nccl ? "auto" : placement_dense_name(p->dense) },
		{ "placement", "compress", compress[p->compress] },
		{ "cluster", "workers", workers }, { "cluster", "ps", ps },
		{ "cluster", "bucket_bytes", bucket },
		{ "cluster", "policy", p->policy.policy == POLICY_FILE ? "file" : "record" },
	};

	RS_TRY(job_spec_copy(spec, out));
	for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
		const enum rs_status status =
			spec_set(*out, set[i].section, set[i].key, set[i].value);

		if (status == RS_OK)
			continue;
		spec_free(*out);
		*out = NULL;
		return status;
	}
	return RS_OK;
}

static int
is_of_one_node(const struct option_row *row)
{
	if (strcmp(row->section, "cluster") == 0)
		return strcmp(row->key, "workers") != 0 && strcmp(row->key, "ps") != 0
			&& strcmp(row->key, "policy") != 0
			&& strcmp(row->key, "bucket_bytes") != 0;
	if (strcmp(row->section, "gpu") == 0)
		return row->is_free;
	return strcmp(row->section, "runs") == 0
		|| (strcmp(row->section, "model") == 0 && strcmp(row->key, "path") == 0)
		|| (strcmp(row->section, "train") == 0 && strcmp(row->key, "threads") == 0);
}

static enum rs_status
hash_text(struct spec *spec, const struct placement *p, uint64_t *out)
{
	struct buffer text;

	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (is_of_one_node(row))
			RS_TRY(spec_set(spec, row->section, row->key,
				row->dflt != NULL ? row->dflt : ""));
	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = spec_print(spec, 0, &text);
	if (status == RS_OK)
		status = buffer_printf(&text, "%s %s", PACKAGE_VERSION,
			placement_dense_name(p->carrier));
	if (status == RS_OK)
		*out = hash_fingerprint64(text.data, text.n);
	buffer_free(&text);
	return status;
}

enum rs_status
job_spec_hash(const struct spec *settled, const struct placement *p, uint64_t *out)
{
	struct spec *copy;

	RS_TRY(job_spec_copy(settled, &copy));
	const enum rs_status status = hash_text(copy, p, out);
	spec_free(copy);
	return status;
}
