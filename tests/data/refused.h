/* Specs that must be refused, and words of the message. */
#ifndef TESTS_DATA_REFUSED_H
#define TESTS_DATA_REFUSED_H

#include <string.h>

#include "spec/spec.h"
#include "tests/test.h"

struct refused_spec { const char *spec, *wanted; };

static inline void
assert_specs_refused(const struct refused_spec *refused, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct spec *spec = NULL;
		const enum rs_status status = spec_load_text(refused[i].spec, "t.ini", &spec);
		const int found = strstr(rs_failure()->text, refused[i].wanted) != NULL;

		if (!found)
			print_error("case %zu: %s\n", i, rs_failure()->text);
		spec_free(spec);
		assert_int_equal(status, RS_ESPEC);
		assert_true(found);
	}
}

#endif
