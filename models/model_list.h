/* The rows of model_table: name, text, source.  models/NAME.c has NAME_build(). */
#ifndef MODELS_MODEL_LIST_H
#define MODELS_MODEL_LIST_H

#define MODEL_LIST(MODEL) \
	MODEL(fm,        "factorisation machine", "Rendle 2010") \
	MODEL(wide_deep, "first-order weights and an MLP", "Cheng et al. 2016") \
	MODEL(deepfm,    "factorisation machine and an MLP on the same vectors", "Guo et al. 2017") \
	MODEL(din,       "attention over histories and an MLP", "Zhou et al. 2018") \
	MODEL(two_tower, "a vector of the user, one of the item, compared", "Yi et al. 2019") \
	MODEL(dcn,       "cross layers and an MLP", "Wang et al. 2017, 2021") \
	MODEL(dlrm,      "dots of pairs of vectors between two MLPs", "Naumov et al. 2019")

#endif
