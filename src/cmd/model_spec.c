/* The spec of a trained model. */
#include "cmd/model_spec.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/model_files.h"
#include "train/checkpoint.h"

enum rs_status
model_spec_directory(const struct arguments *a, size_t i, const char **out)
{
	uint64_t *list;
	size_t n;

	*out = a->n_positional > i ? a->positional[i] : NULL;
	if (*out == NULL)
		return rs_fail(RS_EUSAGE, "%s: which MODEL?", a->command->name);
	RS_TRY(model_files_check(*out));
	RS_TRY(checkpoint_list(*out, &list, &n));
	free(list);
	return n > 0 ? RS_OK : rs_fail(RS_ENOINPUT, "no complete model version in '%s'", *out);
}

/* "field a.column=2" */
static enum rs_status
set_one(struct spec *spec, const char *text)
{
	const char *const equals = strchr(text, '=');
	const char *const dot = equals != NULL
		? memrchr(text, '.', (size_t)(equals - text)) : NULL;

	if (dot == NULL)
		return rs_fail(RS_EUSAGE, "-o '%s': wanted SECTION.KEY=VALUE", text);
	char *const section = strndup(text, (size_t)(dot - text));
	char *const key = strndup(dot + 1, (size_t)(equals - dot - 1));
	const enum rs_status status = section == NULL || key == NULL
		? rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", strlen(text))
		: spec_set(spec, section, key, equals + 1);
	free(section);
	free(key);
	return status;
}

static enum rs_status
read_any(const char *directory, struct spec **out)
{
	uint64_t *list, current;
	size_t n;

	RS_TRY(checkpoint_read_current(directory, &current));
	enum rs_status status = current != 0 ? checkpoint_spec(directory, current, out)
		: RS_ENOINPUT;
	if (status == RS_OK || status == RS_ERESOURCE)
		return status;
	RS_TRY(checkpoint_list(directory, &list, &n));
	status = RS_ENOINPUT;
	for (size_t i = n; status != RS_OK && status != RS_ERESOURCE && i-- > 0; )
		status = checkpoint_spec(directory, list[i], out);
	free(list);
	return status;
}

enum rs_status
model_spec_read(const struct arguments *a, const char *directory, struct spec **out)
{
	const char *text;
	enum rs_status status = read_any(directory, out);

	RS_TRY(status);
	for (size_t i = 0; status == RS_OK && (text = argument_nth(a, "--set", i)) != NULL; i++)
		status = set_one(*out, text);
	if (status != RS_OK) {
		spec_free(*out);
		*out = NULL;
	}
	return status;
}
