"""What Tierline says to the user, in the user's language.

Sentences are made in English, and what is sent to a model stays so. They are translated where
they leave for the user (``lsp/translation.py``, ``cli/common.py``), by gettext catalogues: a
message is a sentence as the source writes it, with ``{0}``, ``{1}`` for what is put in.
``make sentences`` writes the catalogues anew from the source.
"""
