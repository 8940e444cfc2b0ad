"""Stability policies: which bytes stay as they were sent, and where breakpoints go.

``base`` says what a policy is given and answers. There are three: ``counter``, ``fixed`` and
``log_structured``, the default. Its parts, in the words of the design's section 6:

* what is remembered of base and log: ``logstate``;
* differences, tombstones, confirmations: ``changes`` (which one), ``updates`` (the words),
  ``delta`` (unified diffs);
* hazard of an item: ``hazard``; order within the base: ``ways``;
* keeping what was sent, or consolidating from a tier on: ``ways`` (what each way would send),
  ``cost`` (rent or buy, and the gate for every other rewrite), ``log_structured`` (the choice);
* lifetimes and keep-alive: ``lifetime``.

``attribution``, ``shape``, ``bill`` and ``tiermap`` explain afterwards what the cache gave.
docs/tiers.md explains the policies and measures them.
"""
