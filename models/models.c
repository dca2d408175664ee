/* The table of models: one row each. */
#include "models/models.h"

#include <string.h>


const struct model_row model_table[] = {
#define MODEL(name, text, source) { #name, text, source, name##_build },
	MODEL_LIST(MODEL)
#undef MODEL
	{ NULL, NULL, NULL, NULL },
};

const struct model_row *
model_find(const char *name)
{
	for (const struct model_row *row = model_table; row->name != NULL; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}
