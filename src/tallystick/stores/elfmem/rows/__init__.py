"""Every read and write of the index, as functions of a connection; the caller says where a transaction ends.

Results are dictionaries and plain values. Nothing a caller passes ever becomes part of a statement: all of it is bound.
What the index could not keep as it is (a lone surrogate, a NaN, an unknown status) is refused before anything is
written. A change to a block, session or pair that is not there changes nothing, like the UPDATE that it is.
"""
