/* The data that a model was trained on. */
#include "cmd/model_data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "train/ledger.h"

static int
has_name(const struct text_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->item[i], name) == 0)
			return 1;
	return 0;
}

static enum rs_status
add_name(struct text_list *list, const char *name)
{
	RS_TRY(memory_strdup(name, &list->item[list->n]));
	list->n++;
	return RS_OK;
}

/* Each file once, whatever ranges of it were trained. */
static enum rs_status
add_ledger(const struct ledger *ledger, struct text_list *out)
{
	size_t n_gone = 0;

	RS_TRY(memory_alloc(ledger->n + 1, sizeof *out->item, &out->item));
	for (size_t i = 0; i < ledger->n; i++) {
		const struct ledger_entry *const e = &ledger->entry[i];

		if (e->use != LEDGER_TRAINED || has_name(out, e->path))
			continue;
		if (access(e->path, R_OK) == 0)
			RS_TRY(add_name(out, e->path));
		else
			n_gone++;
	}
	if (n_gone > 0)
		log_warn("%zu file%s that the model was trained on cannot be read any more",
			n_gone, n_gone == 1 ? "" : "s");
	if (out->n > 0)
		return RS_OK;
	(void)rs_fail(RS_ENOINPUT, "no file that the model was trained on can be read");
	return rs_hint("name data behind MODEL");
}

static enum rs_status
ledger_files(const struct model_files *f, struct text_list *out)
{
	struct ledger ledger;
	char *path;

	RS_TRY(file_join(f->path, LEDGER_FILE, &path));
	enum rs_status status = ledger_read_file(path, &ledger);
	free(path);
	RS_TRY(status);
	status = add_ledger(&ledger, out);
	ledger_free(&ledger);
	return status;
}

enum rs_status
model_data_files(const struct arguments *a, const struct model_files *f, struct text_list *out)
{
	enum rs_status status = RS_OK;

	*out = (struct text_list){ 0 };
	if (a->n_positional < 2) {
		status = ledger_files(f, out);
	} else {
		status = memory_alloc(a->n_positional, sizeof *out->item, &out->item);
		for (size_t i = 1; status == RS_OK && i < a->n_positional; i++)
			status = add_name(out, a->positional[i]);
	}
	if (status != RS_OK)
		model_data_free(out);
	return status;
}

void
model_data_free(struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->item[i]);
	free(list->item);
	*list = (struct text_list){ 0 };
}
