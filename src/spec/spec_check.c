/* Rules over several keys; each is one function that adds problems. */
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "spec/spec_private.h"

#define NONE SPEC_NO_FIELD
#define FFM_FIELD_MAX (1 << 20)

static int
is_number(const char *text)
{
	int64_t number;

	return number_i64(text, strlen(text), &number);
}

static enum rs_status
check_model_type(struct spec *spec)
{
	const char *type = spec->settings.model.type, *near;
	struct spec_place place = spec_place(spec, "model", "type", NONE);
	size_t n = 0;

	if (*type == '\0')
		return spec_key_error(spec, "model", "type", "for example type = deepfm",
			"a model is needed");
	if (spec->model_type == NULL)
		return RS_OK;
	for (; spec->model_type[n] != NULL; n++)
		if (strcmp(spec->model_type[n], type) == 0)
			return RS_OK;
	near = spec_nearest(type, spec->model_type, n);
	rs_fail(RS_ESPEC, "'%s': there is no such model", type);
	if (near != NULL)
		rs_hint("did you mean '%s'?", near);
	place.column = place.value_column;
	return spec_failure_to_problem(spec, &place, "[model] type");
}

/* Keys of a section that the model does not use: one warning a section. */
static enum rs_status
check_sections(struct spec *spec)
{
	const char *model = spec->settings.model.type;
	int is_known = 0;

	for (const struct option_section *s = option_section; s->name != NULL; s++)
		is_known |= s->models != NULL && option_section_concerns(s->name, model);
	for (const struct option_section *s = option_section; is_known && s->name != NULL; s++) {
		const struct option_row *row = option_table;

		if (option_section_concerns(s->name, model))
			continue;
		while (row->section != NULL && (strcmp(row->section, s->name) != 0 ||
			!spec_given(spec, s->name, row->key, NONE)))
			row++;
		if (row->section == NULL)
			continue;
		const struct spec_place place = spec_place(spec, s->name, row->key, NONE);

		RS_TRY(spec_add_problem(spec, 0, &place, NULL,
			"[%s] %s: model '%s' does not use this section; it is of %s", s->name,
			row->key, model, s->models));
	}
	return RS_OK;
}

static enum rs_status
check_input(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	if (s->data.train.n == 0 && *s->data.command == '\0')
		RS_TRY(spec_key_error(spec, "data", "train", NULL,
			"training data is needed, here or "
			"as data.command"));
	if (s->data.train.n > 0 && *s->data.command != '\0')
		RS_TRY(spec_key_error(spec, "data", "command", NULL,
			"given beside train; only one of them can be"));
	if (s->n_fields == 0)
		RS_TRY(spec_add_problem(spec, 1, &(struct spec_place){ 0 },
			"recsys-train init writes a spec from a sample of the data",
			"there is no [field NAME]"));
	for (size_t i = 0; i < s->data.train.n; i++)
		if (strcmp(s->data.train.item[i], "-") == 0 && s->train.epochs > 1)
			RS_TRY(spec_key_error(spec, "train", "epochs", NULL,
				"standard input can be read only once"));
	if (!s->data.shuffle || !spec_given(spec, "data", "shuffle", NONE))
		return RS_OK;
	if (*s->data.command != '\0' || (s->data.train.n == 1 && strcmp(s->data.train.item[0],
		"-") == 0))
		return spec_key_error(spec, "data", "shuffle", NULL,
			"a stream cannot be shuffled, only files");
	return RS_OK;
}

static int
is_delimited(const struct data_settings *d)
{
	return d->format == FORMAT_TSV || d->format == FORMAT_CSV;
}

static char
column_separator(const struct data_settings *d)
{
	if (*d->separator != '\0')
		return *d->separator;
	return d->format == FORMAT_CSV ? ',' : '\t';
}

static enum rs_status
check_named_columns(struct spec *spec)
{
	const struct data_settings *d = &spec->settings.data;
	const struct { const char *key, *value; } column[] = {
		{ "label", d->label }, { "weight", d->weight }, { "group", d->group },
		{ "time", d->time }, { "id", d->id },
	};

	for (size_t i = 0; i < sizeof(column) / sizeof(column[0]); i++)
		if (*column[i].value != '\0' && d->header == TRI_NO && !is_number(column[i].value))
			RS_TRY(spec_key_error(spec, "data", column[i].key,
				"use the number of the column, from 1",
				"a column by name, but header = no"));
	return RS_OK;
}

/* Losses that compare items, and drawn negatives, make do with rows of positives. */
static int
needs_label(const struct settings *s)
{
	return s->items.negatives == 0 &&
		(s->model.loss == LOSS_LOGLOSS || s->model.loss == LOSS_MSE);
}

static enum rs_status
check_format(struct spec *spec)
{
	const struct data_settings *d = &spec->settings.data;
	const int lacks_label = *d->label == '\0' && needs_label(&spec->settings);

	if ((d->format == FORMAT_LIBSVM || d->format == FORMAT_LIBFFM) && d->index_base < 0)
		RS_TRY(spec_key_error(spec, "data", "index_base",
			"look at the data: is any index 0?",
			"0 or 1 is needed for libsvm and libffm"));
	if (d->format == FORMAT_TFRECORD && lacks_label)
		RS_TRY(spec_key_error(spec, "data", "label", "the name of a feature",
			"the feature of the label is needed"));
	if (!is_delimited(d))
		return RS_OK;
	if (lacks_label)
		RS_TRY(spec_key_error(spec, "data", "label",
			"a number from 1, or a name of the header",
			"the column of the label is needed"));
	if (d->quote != TRI_NO && (d->quote == TRI_YES || d->format == FORMAT_CSV) &&
		column_separator(d) == '"')
		RS_TRY(spec_key_error(spec, "data", "separator", "set quote = no",
			"the separator is the quote"));
	if (column_separator(d) == '\n' || column_separator(d) == '\r')
		RS_TRY(spec_key_error(spec, "data", "separator", NULL, "a line end cannot be it"));
	return check_named_columns(spec);
}

static enum rs_status
check_label(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const struct text_list *values = &s->data.label_values;

	if (values->n > 0 && (values->n != 2 || strcmp(values->item[0], values->item[1]) == 0))
		RS_TRY(spec_key_error(spec, "data", "label_values", NULL,
			"two different values are wanted, the negative and the positive"));
	if (values->n > 0 && s->data.label_type != LABEL_BINARY)
		RS_TRY(spec_key_error(spec, "data", "label_values", NULL,
			"only for label_type = binary"));
	if (s->data.label_type == LABEL_REAL && s->model.loss != LOSS_MSE)
		RS_TRY(spec_key_error(spec, "data", "label_type", "set model.loss = mse",
			"real labels have no logloss"));
	return RS_OK;
}

static enum rs_status
check_train(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	if (s->train.schedule == SCHEDULE_PLATEAU && s->data.valid.n == 0)
		RS_TRY(spec_key_error(spec, "train", "schedule", NULL, "plateau needs data.valid"));
	if (s->train.schedule == SCHEDULE_WARMUP_LINEAR && s->train.warmup_steps == 0)
		RS_TRY(spec_key_error(spec, "train", "warmup_steps", NULL,
			"schedule = warmup_linear needs it"));
	if (s->data.row_group > s->data.shuffle_window)
		RS_TRY(spec_key_error(spec, "data", "row_group", NULL,
			"larger than shuffle_window"));
	if (s->train.slots > s->train.batch_size)
		RS_TRY(spec_key_error(spec, "train", "slots", NULL,
			"more slots than rows in a batch"));
	return RS_OK;
}

static enum rs_status
check_share(struct spec *spec, size_t field)
{
	const struct field_settings *f = &spec->settings.field[field], *owner;
	const size_t target = spec_field_find(spec, f->share);
	static const char *const equal[] = { "dim", "buckets", "table", "rounds",
		"optimizer", "learning_rate", "l2", "id_type", "fold_case" };

	if (*f->share == '\0')
		return RS_OK;
	if (target == NONE)
		return spec_field_problem(spec, 1, NULL, field, "share", "there is no field '%s'",
			f->share);
	owner = &spec->settings.field[target];
	if (target == field)
		return spec_field_problem(spec, 1, NULL, field, "share",
			"a field cannot share with itself");
	if (*owner->share != '\0')
		return spec_field_problem(spec, 1, NULL, field, "share",
			"'%s' itself shares with '%s'; name that one",
			f->share, owner->share);
	if (owner->type == FIELD_CROSS)
		return spec_field_problem(spec, 1, NULL, field, "share",
			"'%s' is a cross; its ids are of another kind", f->share);
	if (owner->type == FIELD_NUMERIC)
		return spec_field_problem(spec, 1, NULL, field, "share",
			"'%s' is numeric and has no table",
			f->share);
	for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++) {
		const struct option_row *row = option_find("field", equal[i]);

		if (!option_equal(row, f, row, owner))
			RS_TRY(spec_field_problem(spec, 1, NULL, field, equal[i],
				"differs from that of '%s', whose table is shared",
				f->share));
	}
	return RS_OK;
}

static enum rs_status
check_separators(struct spec *spec, size_t field)
{
	const struct field_settings *f = &spec->settings.field[field];
	const struct data_settings *d = &spec->settings.data;

	if (f->type != FIELD_MULTI && f->type != FIELD_SEQUENCE)
		return RS_OK;
	if (is_delimited(d) && *f->multi_separator == column_separator(d))
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "multi_separator",
			"equals the separator of the columns"));
	if (*f->weight_separator == '\0')
		return RS_OK;
	if (*f->weight_separator == *f->multi_separator)
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "weight_separator",
			"equals multi_separator"));
	if (is_delimited(d) && *f->weight_separator == column_separator(d))
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "weight_separator",
			"equals the separator of the columns"));
	return RS_OK;
}

/* libffm: the column is the number before the first ':' of the field's features. */
static enum rs_status
check_ffm_column(struct spec *spec, size_t field)
{
	const struct settings *s = &spec->settings;
	int64_t number, other;

	if (!number_i64(s->field[field].column, strlen(s->field[field].column), &number) ||
	    number < 0 || number > FFM_FIELD_MAX)
		return spec_field_problem(spec, 1, NULL, field, "column",
			"'%s': libffm fields are numbers from 0 to %d", s->field[field].column,
			FFM_FIELD_MAX);
	for (size_t i = 0; i < field; i++)
		if (number_i64(s->field[i].column, strlen(s->field[i].column), &other) &&
		    other == number)
			return spec_field_problem(spec, 1, NULL, field, "column",
				"'%s' is the column of '%s', too", s->field[field].column,
				s->field[i].name);
	return RS_OK;
}

static enum rs_status
check_column(struct spec *spec, size_t field)
{
	const struct field_settings *f = &spec->settings.field[field];
	const struct data_settings *d = &spec->settings.data;
	int64_t number;

	if (f->type == FIELD_CROSS)
		return RS_OK;
	if (d->format == FORMAT_LIBFFM)
		return check_ffm_column(spec, field);
	if (!is_delimited(d))
		return RS_OK;
	if (number_i64(f->column, strlen(f->column), &number) && number < 1)
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "column",
			"'%s': columns count from 1",
			f->column));
	if (d->header == TRI_NO && !is_number(f->column))
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "column",
			"'%s': a column by name, but data.header = no", f->column));
	if (*d->label != '\0' && strcmp(d->label, f->column) == 0)
		RS_TRY(spec_field_problem(spec, 0, NULL, field, "column",
			"this is the column of the label"));
	return RS_OK;
}

static enum rs_status
check_boundaries(struct spec *spec, size_t field)
{
	const struct field_settings *f = &spec->settings.field[field];

	if (f->boundaries.n > 0 && f->transform != TRANSFORM_BUCKETIZE)
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "boundaries",
			"only for transform = bucketize"));
	for (size_t i = 1; i < f->boundaries.n; i++)
		if (!(f->boundaries.item[i - 1] < f->boundaries.item[i]))
			return spec_field_problem(spec, 1, NULL, field, "boundaries",
				"not ascending at item %zu", i + 1);
	return RS_OK;
}

/* A key that does nothing for a field of this type. */
static enum rs_status
check_effects(struct spec *spec, size_t field)
{
	const struct field_settings *f = &spec->settings.field[field];

	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		if (strcmp(row->section, "field") != 0 || row->types == 0 ||
			row->types >> f->type & 1 ||
		    !spec_given(spec, "field", row->key, field))
			continue;
		RS_TRY(spec_field_problem(spec, strcmp(row->key, "transform") == 0 &&
			f->transform != TRANSFORM_NONE, NULL,
			field, row->key, "has no effect on a field of this type"));
	}
	return RS_OK;
}

/* A field without a vector needs a model with first-order weights. */
static enum rs_status
check_part(struct spec *spec, size_t field)
{
	const char *model = spec->settings.model.type;

	if (spec->settings.field[field].part != PART_WIDE ||
	    option_section_concerns("linear", model))
		return RS_OK;
	return spec_field_problem(spec, 1, NULL, field, "part",
		"wide, but model %s has no first-order weights", model);
}

/* A numeric field that is a number to the model. */
static int
is_dense(const struct field_settings *f)
{
	return f->type == FIELD_NUMERIC && f->transform != TRANSFORM_BUCKETIZE;
}

static int64_t
vector_dim(const struct settings *s, size_t field)
{
	return s->field[field].dim > 0 ? s->field[field].dim : s->embedding.dim;
}

/* Models that multiply vectors with each other need one dim; in dlrm the numeric
 * fields become one vector of embedding.dim. */
static enum rs_status
check_dims(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const int is_dlrm = strcmp(s->model.type, "dlrm") == 0;
	size_t first = NONE, numeric = 0;

	if (!is_dlrm && strcmp(s->model.type, "fm") != 0 && strcmp(s->model.type, "deepfm") != 0)
		return RS_OK;
	for (size_t i = 0; i < s->n_fields; i++)
		numeric += is_dlrm && is_dense(&s->field[i]);
	for (size_t i = 0; i < s->n_fields; i++) {
		if (s->field[i].part == PART_WIDE || *s->field[i].share != '\0'
		    || (is_dlrm && is_dense(&s->field[i])))
			continue;
		if (first == NONE)
			first = i;
		if (numeric > 0 && vector_dim(s, i) != s->embedding.dim)
			return spec_field_problem(spec, 1, NULL, i, "dim",
				"model dlrm needs that of embedding, %lld, for all fields",
				(long long)s->embedding.dim);
		if (vector_dim(s, i) != vector_dim(s, first))
			return spec_field_problem(spec, 1, NULL, i, "dim",
				"model %s needs one dim, but '%s' has %lld", s->model.type,
				s->field[first].name, (long long)vector_dim(s, first));
	}
	return RS_OK;
}

/* The fields that have a vector; in dlrm the numeric ones have one together. */
static enum rs_status
check_vectors(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const struct spec_place place = spec_place(spec, "model", "type", NONE);
	const int is_dlrm = strcmp(s->model.type, "dlrm") == 0;
	size_t n = 0, numeric = 0;

	for (size_t i = 0; i < s->n_fields; i++) {
		n += s->field[i].part != PART_WIDE;
		numeric += is_dense(&s->field[i]);
	}
	if (s->n_fields > 0 && n == 0 && option_section_concerns("linear", s->model.type))
		return spec_add_problem(spec, 1, &place, "set part = both in one of them",
			"[model] type: %s needs a vector, but all fields have part = wide",
			s->model.type);
	if (is_dlrm && s->n_fields > 0 && n - numeric + (numeric > 0) < 2)
		return spec_add_problem(spec, 1, &place, "deepfm has no such need",
			"[model] type: dlrm multiplies vectors with each other and needs two, but "
			"there %s; numeric fields have one together",
			numeric > 0 ? "are only numeric fields" : "is one field");
	return RS_OK;
}

static enum rs_status
check_cache(struct spec *spec)
{
	const struct data_settings *const d = &spec->settings.data;
	const struct spec_place place = spec_place(spec, "data", "cache", NONE);
	struct stat st;

	if (d->cache[0] == '\0')
		return RS_OK;
	if (stat(d->cache, &st) == 0 && !S_ISDIR(st.st_mode))
		return spec_key_error(spec, "data", "cache", "it is made when it is not there",
			"'%s' is no directory", d->cache);
	return spec_reads_a_stream(d) ? spec_add_problem(spec, 0, &place, NULL,
		"[data] cache: rows of standard input and commands get no cache") : RS_OK;
}

/* What the cross layers of model dcn cannot be. */
static enum rs_status
check_dcn(struct spec *spec)
{
	const struct dcn_settings *d = &spec->settings.dcn;

	if (!option_section_concerns("dcn", spec->settings.model.type))
		return RS_OK;
	if (d->version == DCN_V1 && d->rank > 0)
		RS_TRY(spec_key_error(spec, "dcn", "rank", "set version = v2",
			"a layer of v1 is one vector and has no rank"));
	if (d->experts > 1 && (d->version == DCN_V1 || d->rank == 0))
		RS_TRY(spec_key_error(spec, "dcn", "experts",
			"for example version = v2 and rank = 32",
			"experts are matrices of low rank, but rank is not given"));
	return RS_OK;
}

/* A sign of life that is late is not yet silence. */
static enum rs_status
check_lease(struct spec *spec)
{
	const struct cluster_settings *c = &spec->settings.cluster;
	const char *key = spec_given(spec, "cluster", "lease", NONE) ? "lease" : "heartbeat";

	if (c->lease >= 2 * c->heartbeat)
		return RS_OK;
	return spec_key_error(spec, "cluster", key, "nodes are out when one sign of life is late",
		"a lease of %g s is too short for a heartbeat of %g s", c->lease, c->heartbeat);
}

enum rs_status
spec_check_all(struct spec *spec)
{
	RS_TRY(check_model_type(spec));
	RS_TRY(check_sections(spec));
	RS_TRY(check_input(spec));
	RS_TRY(check_format(spec));
	RS_TRY(check_label(spec));
	RS_TRY(check_cache(spec));
	RS_TRY(check_train(spec));
	RS_TRY(check_lease(spec));
	RS_TRY(check_dcn(spec));
	RS_TRY(check_dims(spec));
	RS_TRY(check_vectors(spec));
	RS_TRY(spec_check_items(spec));
	RS_TRY(spec_check_towers(spec));
	RS_TRY(spec_check_din(spec));
	RS_TRY(spec_check_exact(spec));
	RS_TRY(spec_check_eval(spec));
	for (size_t i = 0; i < spec->settings.n_fields; i++) {
		RS_TRY(check_share(spec, i));
		RS_TRY(check_separators(spec, i));
		RS_TRY(spec_check_list(spec, i));
		RS_TRY(spec_check_cross(spec, i));
		RS_TRY(check_column(spec, i));
		RS_TRY(check_boundaries(spec, i));
		RS_TRY(check_effects(spec, i));
		RS_TRY(check_part(spec, i));
	}
	return RS_OK;
}
