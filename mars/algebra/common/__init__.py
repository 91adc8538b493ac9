"""What several aggregations make of the same tuples, each thing once: values of expressions, groups, partials. Cells are the
same, bit by bit, as mars/algebra/cells.py makes of the tuples for one aggregation alone."""
