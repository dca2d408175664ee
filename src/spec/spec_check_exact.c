/* Rules of tables: rounds of hashes, what comes and goes in exact ones, those larger than
 * memory. */
#include "spec/spec_private.h"

#define NONE SPEC_NO_FIELD

static int
has_tables(const struct settings *s, enum table_kind kind, int64_t rounds)
{
	int n = 0;

	for (size_t i = 0; i < s->n_fields; i++)
		n += s->field[i].type != FIELD_NUMERIC && s->field[i].table == kind
			&& s->field[i].rounds >= rounds;
	return n > 0;
}

static int
has_exact(const struct settings *s)
{
	return has_tables(s, TABLE_EXACT, 1);
}

/* A key of [embedding] is given, and not only what it is anyway, as in a spec that was
 * printed. */
static int
is_said(struct spec *spec, const char *key)
{
	const struct option_row *const row = option_find("embedding", key);
	const struct option_context context = { .pool = &spec->pool, .base = "" };
	struct settings standard = spec->settings;

	return spec_given(spec, "embedding", key, NONE)
	    && option_read(row, row->dflt, &context, &standard) == RS_OK
	    && !option_equal(row, &standard, row, &spec->settings);
}

/* Keys that say something, and what says that they have an effect. */
static enum rs_status
check_used(struct spec *spec)
{
	const struct embedding_settings *e = &spec->settings.embedding;
	const int counts = e->admit == ADMISSION_COUNT || e->admit == ADMISSION_SKETCH;
	const int exact = has_exact(&spec->settings);
	const int hashed = has_tables(&spec->settings, TABLE_HASHED, 1);
	const int stacked = has_tables(&spec->settings, TABLE_HASHED, 2);
	const struct { const char *key; int used; const char *needs; } row[] = {
		{ "rounds", hashed, "table = hashed" },
		{ "round_scale", stacked, "rounds" },
		{ "admit", exact, "table = exact" },
		{ "admit_count", counts, "admit = count or sketch" },
		{ "admit_probability", e->admit == ADMISSION_PROBABILITY, "admit = probability" },
		{ "admit_cells", counts, "admit = count or sketch" },
		{ "expire_after", exact, "table = exact" },
		{ "expire_steps", exact, "table = exact" },
		{ "max_bytes", exact, "table = exact" },
		{ "evict", e->max_bytes > 0, "max_bytes" },
		{ "spill", e->resident > 0, "resident" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct spec_place place = spec_place(spec, "embedding", row[i].key, NONE);

		if (!row[i].used && is_said(spec, row[i].key))
			RS_TRY(spec_add_problem(spec, 0, &place, NULL,
				"[embedding] %s: has no effect without %s", row[i].key,
				row[i].needs));
	}
	return RS_OK;
}

static enum rs_status
check_expiry(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const struct embedding_settings *e = &s->embedding;

	if (e->expire_after == 0)
		return RS_OK;
	if (e->expire_steps > 0)
		return spec_key_error(spec, "embedding", "expire_steps", "keep one of the two",
			"given beside expire_after; a row has one clock");
	if (*s->data.time == '\0')
		return spec_key_error(spec, "embedding", "expire_after",
			"set data.time, or use expire_steps",
			"rows have no time: data.time is not given");
	if (s->data.format != FORMAT_TSV && s->data.format != FORMAT_CSV
	    && s->data.format != FORMAT_TFRECORD)
		return spec_key_error(spec, "embedding", "expire_after", "use expire_steps",
			"data of this format have no column of data.time");
	return RS_OK;
}

/* Between two periods nothing is trained: what is shorter lets every row go. */
static enum rs_status
check_period(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const double after = s->embedding.expire_after;
	const struct spec_place place = spec_place(spec, "embedding", "expire_after", NONE);

	if (after == 0 || after >= s->incremental.period
	    || !spec_given(spec, "incremental", "period", NONE))
		return RS_OK;
	return spec_add_problem(spec, 0, &place, NULL, "[embedding] expire_after: %g s, less than "
		"incremental.period of %g s: rows of one period are gone in the next", after,
		s->incremental.period);
}

/* An exact table has no use for rounds; those of [embedding] are for the other fields. */
static enum rs_status
check_rounds(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	for (size_t i = 0; i < s->n_fields; i++) {
		const struct field_settings *f = &s->field[i];

		if (f->rounds > 1 && f->rounds != s->embedding.rounds
		    && (f->table == TABLE_EXACT || f->type == FIELD_NUMERIC))
			RS_TRY(spec_field_problem(spec, 0, NULL, i, "rounds",
				"has no effect without table = hashed"));
	}
	return RS_OK;
}

/* Rows of exact tables are in memory. */
static enum rs_status
check_resident(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	for (size_t i = 0; i < s->n_fields; i++)
		if (s->field[i].type != FIELD_NUMERIC && s->field[i].table == TABLE_EXACT)
			return spec_key_error(spec, "embedding", "resident",
				"bound exact tables with max_bytes, or use table = hashed",
				"rows of exact tables cannot leave memory, and field '%s' has one",
				s->field[i].name);
	return RS_OK;
}

enum rs_status
spec_check_exact(struct spec *spec)
{
	RS_TRY(check_used(spec));
	RS_TRY(check_rounds(spec));
	if (spec->settings.embedding.resident > 0)
		RS_TRY(check_resident(spec));
	if (!has_exact(&spec->settings))
		return RS_OK;
	RS_TRY(check_expiry(spec));
	return check_period(spec);
}
