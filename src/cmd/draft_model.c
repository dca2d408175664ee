/* What the spec of each model has besides the data: one row of a table each. */
#include <stdio.h>
#include <string.h>

#include "cmd/draft.h"
#include "spec/value.h"

enum { CROSS_BUCKETS_MAX = 1 << 20, CROSSES = 3 };

/* NULL members: nothing. */
struct draft_parts {
	const char *model;
	enum rs_status (*keys)(struct draft *d);      /* of [model]                   */
	enum rs_status (*data)(struct draft *d);      /* of [data]                    */
	enum rs_status (*fields)(struct draft *d);    /* more fields                  */
	enum rs_status (*sections)(struct draft *d);
	int has_dnn;
	const char *hidden;
};

/* "#[field a_x_b]": the pairs with the most values that are not too many. */
static enum rs_status
print_cross(struct draft *d, const struct draft_field *a, const struct draft_field *b)
{
	const uint64_t values = a->guess.distinct * b->guess.distinct;
	uint64_t buckets = 64;

	while (buckets < values && buckets < CROSS_BUCKETS_MAX)
		buckets *= 2;
	return buffer_printf(&d->text, "\n#[field %s_x_%s]\n#type = cross\n#fields = %s,%s\n"
		"#buckets = %llu               # up to %llu pairs\n", a->name, b->name, a->name,
		b->name, (unsigned long long)buckets, (unsigned long long)values);
}

static int
can_be_crossed(const struct draft_field *f)
{
	return f->guess.role == GUESS_CATEGORICAL && f->guess.distinct <= 1000 &&
		strpbrk(f->name, " \"\\,#;[]") == NULL;
}

static enum rs_status
wide_deep_fields(struct draft *d)
{
	int n = 0;

	RS_TRY(buffer_printf(&d->text, "\n# Pairs of fields that together say more than each "
		"alone belong in the wide part.\n"));
	for (size_t i = 0; i < d->n_fields; i++)
		for (size_t k = i + 1; k < d->n_fields && n < CROSSES; k++)
			if (can_be_crossed(&d->field[i]) && can_be_crossed(&d->field[k])) {
				RS_TRY(print_cross(d, &d->field[i], &d->field[k]));
				n++;
			}
	return n > 0 ? RS_OK : buffer_printf(&d->text, "#[field a_x_b]\n#type = cross\n"
		"#fields = a,b\n#buckets = 64k\n");
}

static enum rs_status
dcn_sections(struct draft *d)
{
	RS_TRY(draft_section(d, "dcn"));
	RS_TRY(draft_key(d, "version", "v2", "v1: a vector a layer, v2: a matrix"));
	RS_TRY(draft_key(d, "layers", "3", "cross layers"));
	return draft_key(d, "structure", "parallel", "parallel or stacked");
}

static enum rs_status
din_sections(struct draft *d)
{
	RS_TRY(draft_section(d, "din"));
	RS_TRY(draft_key(d, "attention", "64", "hidden units of the attention unit"));
	RS_TRY(draft_key(d, "activation", "dice", "relu prelu dice ..."));
	return draft_key(d, "pooling", "attention", "mean: what attention is worth");
}

static enum rs_status
dlrm_sections(struct draft *d)
{
	RS_TRY(draft_section(d, "dlrm"));
	return draft_key(d, "bottom", "64,32", "layers under the numeric fields, before one of "
		"embedding.dim");
}

static enum rs_status
two_tower_keys(struct draft *d)
{
	return draft_key(d, "loss", "softmax", "over the items of the batch; also sampled_softmax "
		"bpr ccl logloss");
}

static enum rs_status
two_tower_data(struct draft *d)
{
	if (d->user == DRAFT_NONE)
		return buffer_printf(&d->text, "#group = 1                 # column of the user, "
			"whose items are ranked\n");
	return draft_column(d, "group", d->field[d->user].column,
		"the user whose items are ranked");
}

/* first: DRAFT_NONE or the field that goes first. */
static enum rs_status
print_tower(struct draft *d, const char *section, enum guess_side side, size_t first)
{
	const char *comma = "";

	RS_TRY(draft_section(d, section));
	RS_TRY(buffer_printf(&d->text, "# by their names; move a field that stands in the wrong "
		"tower\nfields = "));
	for (size_t i = 0; i <= d->n_fields; i++) {
		const size_t field = i == 0 ? first : i - 1;

		if (field == DRAFT_NONE || (i > 0 && field == first) ||
			d->field[field].side != side)
			continue;
		RS_TRY(buffer_printf(&d->text, "%s", comma));
		RS_TRY(value_print(&d->text, d->field[field].name, 1));
		comma = ",";
	}
	RS_TRY(buffer_printf(&d->text, "\n"));
	return draft_key(d, "hidden", "128,64", "both towers end in as many units");
}

static enum rs_status
two_tower_sections(struct draft *d)
{
	RS_TRY(draft_section(d, "two_tower"));
	RS_TRY(draft_key(d, "similarity", "cosine", "cosine or dot"));
	RS_TRY(draft_key(d, "temperature", "0.1", "smaller: the hardest items count more"));
	RS_TRY(print_tower(d, "tower user", GUESS_SIDE_USER, d->user));
	RS_TRY(print_tower(d, "tower item", GUESS_SIDE_ITEM, d->item));
	RS_TRY(draft_section(d, "items"));
	RS_TRY(draft_key(d, "key", d->field[d->item].name, "what names an item"));
	RS_TRY(draft_section(d, "eval"));
	if (d->user == DRAFT_NONE)
		return draft_key(d, "candidates", "rows", "catalogue ranks all items; it needs "
			"data.group");
	RS_TRY(draft_key(d, "candidates", "catalogue", "all items are ranked for a user"));
	return buffer_printf(&d->text, "metrics = recall@20,ndcg@20\n");
}

static const struct draft_parts parts[] = {
	{ .model = "fm" },
	{ .model = "wide_deep", .fields = wide_deep_fields, .has_dnn = 1, .hidden = "256,128,64" },
	{ .model = "deepfm", .has_dnn = 1, .hidden = "400,400,400" },
	{ .model = "dcn", .sections = dcn_sections, .has_dnn = 1, .hidden = "400,400,400" },
	{ .model = "din", .sections = din_sections, .has_dnn = 1, .hidden = "200,80" },
	{ .model = "dlrm", .sections = dlrm_sections, .has_dnn = 1, .hidden = "256,128" },
	{ .model = "two_tower", .keys = two_tower_keys, .data = two_tower_data,
	  .sections = two_tower_sections },
	{ .model = NULL, .has_dnn = 1, .hidden = "400,400,400" },
};

static const struct draft_parts *
parts_of(const struct draft *d)
{
	const struct draft_parts *p = parts;

	while (p->model != NULL && strcmp(p->model, d->model) != 0)
		p++;
	return p;
}

enum rs_status
draft_model_keys(struct draft *d)
{
	return parts_of(d)->keys != NULL ? parts_of(d)->keys(d) : RS_OK;
}

enum rs_status
draft_data_keys(struct draft *d)
{
	return parts_of(d)->data != NULL ? parts_of(d)->data(d) : RS_OK;
}

static enum rs_status
print_dnn(struct draft *d, const char *hidden)
{
	RS_TRY(draft_section(d, "dnn"));
	RS_TRY(draft_key(d, "hidden", hidden, "units of the hidden layers"));
	return draft_key(d, "dropout", "0", "%s", "");
}

/* Lists have no rows of label 0; they are drawn. */
static enum rs_status
print_items(struct draft *d)
{
	RS_TRY(draft_section(d, "items"));
	RS_TRY(draft_key(d, "key", d->field[d->item].name, "what names an item"));
	return draft_key(d, "negatives", "4", "rows of label 0 for each in the file");
}

enum rs_status
draft_model(struct draft *d)
{
	const struct draft_parts *p = parts_of(d);

	if (p->fields != NULL)
		RS_TRY(p->fields(d));
	RS_TRY(draft_section(d, "embedding"));
	RS_TRY(draft_key(d, "dim", "16", "width of the vectors"));
	RS_TRY(draft_key(d, "optimizer", "adagrad", "sgd adagrad rowwise_adagrad adam ftrl"));
	RS_TRY(draft_key(d, "learning_rate", "0.02", "%s", ""));
	if (p->sections != NULL)
		RS_TRY(p->sections(d));
	if (d->format != NULL && strcmp(d->format, "lists") == 0 && p->data == NULL)
		RS_TRY(print_items(d));
	if (p->has_dnn)
		RS_TRY(print_dnn(d, p->hidden));
	RS_TRY(draft_section(d, "train"));
	RS_TRY(draft_key(d, "epochs", "1", "%s", ""));
	RS_TRY(draft_key(d, "batch_size", "4096", "rows of a step"));
	RS_TRY(draft_key(d, "optimizer", "adam", "of the dense weights"));
	RS_TRY(draft_key(d, "learning_rate", "0.001", "%s", ""));
	if (strcmp(d->model, "two_tower") == 0 && d->user != DRAFT_NONE)
		RS_TRY(draft_key(d, "monitor", "ndcg@20", "tells the best epoch on data.valid"));
	return draft_key(d, "seed", "1", "equal seeds give equal models");
}
