# Rows with every kind of field that a graph can say.
BEGIN {
	OFS = "\t"
	print "click", "word", "number", "size", "tags", "marks", "items", "kinds", "price"
	for (i = 0; i < 1200; i++) {
		x = (i * 7919 + 13) % 1009
		word = x % 11 == 0 ? "" : x % 13 == 0 ? "none" : (x % 2 ? "Word" : "wORD") x % 17
		number = x % 19 == 0 ? "" : (x % 3 == 0 ? "-" : "") (x % 5 == 0 ? "00" : "") x % 23
		size = x % 17 == 0 ? "" : (x - 500) / 7
		tags = marks = items = kinds = ""
		for (k = 0; k < x % 6; k++)
			tags = tags (k ? "|" : "") "t" (x * (k + 3)) % 5
		for (k = 0; k < x % 4; k++)
			marks = marks (k ? "|" : "") "m" (x + k) % 9 ":" (k + 1) / 4
		for (k = 0; k < x % 7; k++) {
			items = items (k ? "|" : "") (k % 5 == 3 ? "none" : "i" (x + k) % 8)
			kinds = kinds (k ? "|" : "") (k && (k + x) % 5 == 3 ? "none" : "k" (x + k) % 3)
		}
		if (x % 7 == 0)
			items = kinds = ""
		price = x % 29 == 0 ? "none" : x / 10
		print x % 3 == 0, word, number, size, tags, marks, items, kinds, price
	}
}
