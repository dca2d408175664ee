/* What admission.c and admission_file.c share. */
#ifndef EMBED_ADMISSION_PRIVATE_H
#define EMBED_ADMISSION_PRIVATE_H

#include <string.h>

#include "embed/admission.h"
#include "embed/waiting.h"

#define ADMISSION_ROWS      4
#define ADMISSION_NAME_SIZE 128

struct admission_part {
	_Alignas(64) struct waiting waiting;
	void    *cell;             /* [ADMISSION_ROWS, row_cells] of cell_bytes; borrowed    */
	uint64_t counted;          /* occurrences since the cells were halved, and half of those
	                            * before                                         */
};

struct admission {
	struct admission_settings settings;
	char     name[ADMISSION_NAME_SIZE];
	uint64_t key;              /* of the random bits                             */
	size_t   row_cells, cell_bytes, part_cell_bytes;
	uint64_t halve_above;      /* counted                                        */
	size_t   counters_most;    /* of a part                                      */
	struct admission_part *part;       /* [ADMISSION_PARTS]                      */
	char    *cells;
	size_t   cells_bytes;
	uint64_t loaded;           /* bit of each part that a file had               */
};

/* The part is as if nothing had been asked. */
static inline void
admission_clear_part(struct admission *a, size_t part)
{
	struct admission_part *p = &a->part[part];

	waiting_clear(&p->waiting);
	p->counted = 0;
	if (p->cell != NULL)
		memset(p->cell, 0, a->part_cell_bytes);
}

static inline uint32_t
admission_cell(const struct admission *a, const struct admission_part *p, size_t i)
{
	return a->cell_bytes == 1 ? ((const uint8_t *)p->cell)[i] : ((const uint16_t *)p->cell)[i];
}

static inline void
admission_set_cell(const struct admission *a, struct admission_part *p, size_t i, uint32_t value)
{
	if (a->cell_bytes == 1)
		((uint8_t *)p->cell)[i] = (uint8_t)value;
	else
		((uint16_t *)p->cell)[i] = (uint16_t)value;
}

#endif
