/* Label conventions. */
#include "data/label.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

void
label_init(struct label_rule *rule, const struct data_settings *data)
{
	const struct text_list *const words = &data->label_values;

	rule->data = data;
	for (int i = 0; i < 2; i++) {
		const char *const word = words->n == 2 ? words->item[i] : i == 0 ? "0" : "1";

		if (!number_double(word, strlen(word), &rule->value[i]))
			rule->value[i] = NAN;
	}
}

int
label_read(const struct label_rule *rule, struct cell cell, float *label)
{
	const struct data_settings *const d = rule->data;
	double value;

	if (d->label_type == LABEL_BINARY && d->label_values.n != 2 && cell.n == 1 &&
	    (cell.text[0] == '0' || cell.text[0] == '1')) {
		*label = (float)(cell.text[0] - '0');
		return 1;
	}
	if (d->label_type == LABEL_BINARY && d->label_values.n == 2)
		for (int i = 0; i < 2; i++)
			if (strlen(d->label_values.item[i]) == cell.n &&
			    memcmp(d->label_values.item[i], cell.text, cell.n) == 0) {
				*label = (float)i;
				return 1;
			}
	if (cell.n > 1 && cell.text[0] == '+') {
		cell.text++;
		cell.n--;
	}
	if (!number_double(cell.text, cell.n, &value))
		return 0;
	if (d->label_type == LABEL_BINARY) {
		*label = value == rule->value[1];
		return value == rule->value[0] || value == rule->value[1];
	}
	*label = (float)value;
	return d->label_type == LABEL_REAL ? isfinite(*label) : value >= 0 && value <= 1;
}

enum rs_status
label_error(const struct label_rule *rule, struct cell cell, struct cell_error *error)
{
	const struct data_settings *const d = rule->data;
	const int two = d->label_values.n == 2;
	char shown[72];

	rs_escape(shown, cell.text, cell.n);
	if (d->label_type == LABEL_REAL)
		cell_error_set(error, cell.text, "label '%s' is not a number", shown);
	else if (d->label_type == LABEL_PROBABILITY)
		cell_error_set(error, cell.text, "label '%s' is not a number from 0 to 1", shown);
	else
		cell_error_set(error, cell.text, "label '%s', wanted '%s' or '%s'", shown,
			two ? d->label_values.item[0] : "0", two ? d->label_values.item[1] : "1");
	snprintf(error->hint, sizeof error->hint,
		d->label_type == LABEL_BINARY ?
			"data.label_values names the two labels, "
			"data.label_type = probability takes numbers" :
			"data.label names the column");
	return RS_EDATA;
}
