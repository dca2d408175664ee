/*
 * The three products of a weight W [n,H] with B rows: y = x W, dW = x^T dy,
 * dx = dy W^T.  Shapes only; the caller gives the pointers, and beta.
 */
#ifndef GRAPH_PRODUCT_H
#define GRAPH_PRODUCT_H

#include <stddef.h>

#include "kernel/kernel_table.h"

enum { PRODUCTS_PER_LAYER = 3 };

struct gemm_args product_y(size_t B, size_t n, size_t H);
struct gemm_args product_dw(size_t B, size_t n, size_t H);
struct gemm_args product_dx(size_t B, size_t n, size_t H);

#endif
