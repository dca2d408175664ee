/*
 * IEEE half precision: rounded to the nearest, ties to even.
 */
#ifndef EXPORT_HALF_H
#define EXPORT_HALF_H

#include <stdint.h>

/* From 65520 on it is infinity. */
uint16_t half_of(float x);
double half_value(uint16_t h);

#endif
