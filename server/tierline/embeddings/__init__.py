"""Optional local embeddings: a small BERT in numpy, in a process of its own (extra ``embeddings``).

No model is downloaded: it is found in an installed package, or in a folder that a setting names.
Without numpy or a model everything works as before, by words alone.
"""
