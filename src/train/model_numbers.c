/* Numbers of the rows of exact tables: the model owns them, train/row_numbers.h makes them. */
#include "train/model.h"

#include <stdlib.h>

void
model_forget_numbers(struct model *m)
{
	for (size_t i = 0; m->numbers != NULL && i < m->schema.n_tables; i++)
		free(m->numbers[i].id);
	free(m->numbers);
	m->numbers = NULL;
}
