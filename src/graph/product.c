/* The products of the operators that have a weight matrix. */
#include "graph/product.h"

#include "graph/node.h"

struct gemm_args
product_y(size_t B, size_t n, size_t H)
{
	return (struct gemm_args){
		.m = B, .n = H, .k = n, .lda = n, .ldb = H, .ldc = H, .alpha = 1,
	};
}

struct gemm_args
product_dw(size_t B, size_t n, size_t H)
{
	return (struct gemm_args){
		.transpose_a = 1, .m = n, .n = H, .k = B, .lda = n, .ldb = H, .ldc = H, .alpha = 1,
	};
}

struct gemm_args
product_dx(size_t B, size_t n, size_t H)
{
	return (struct gemm_args){
		.transpose_b = 1, .m = B, .n = n, .k = H, .lda = H, .ldb = H, .ldc = n, .alpha = 1,
	};
}

/* Rows of a node's value in a slot of B rows. */
static size_t
product_rows(const struct node *node, size_t B, const size_t *N)
{
	return node->ragged == 0 ? B : N[node->ragged - 1];
}

size_t
graph_gemms(const struct graph *g, size_t B, const size_t *N, struct gemm_args *out, size_t n_max)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *node = g->node[i];
		if (!node->op->multiplies)
			continue;
		const size_t width = g->param[node->param[0]].rows;
		const size_t rows = product_rows(node, B, N);
		const struct gemm_args product[PRODUCTS_PER_LAYER] = {
			product_y(rows, width, node->width), product_dw(rows, width, node->width),
			product_dx(rows, width, node->width),
		};
		for (size_t k = 0; k < PRODUCTS_PER_LAYER; k++, n++)
			if (n < n_max)
				out[n] = product[k];
	}
	return n;
}

int
graph_multiplies(const struct graph *g)
{
	size_t i = 0;

	while (i < g->n_nodes && !g->node[i]->op->multiplies)
		i++;
	return i < g->n_nodes;
}
