"""Stability policies: which bytes stay as they were sent, and where breakpoints go.

``base`` defines the interface of a policy. There are three: ``counter``, ``fixed`` and
``log_structured``, the default. Its parts:

* the state that is kept of base and log: ``logstate``;
* differences, tombstones, confirmations: ``document_updates`` (which one), ``updates`` (the text),
  ``delta`` (unified diffs);
* hazard of an item: ``hazard``; order within the base: ``layout_options``;
* appending, or consolidating from a tier on: ``layout_options`` (the request of each option),
  ``cost`` (rent or buy), ``rewrites`` (the choice);
* lifetimes and keep-alive: ``lifetime``.

``attribution``, ``shape``, ``request_cost`` and ``tiermap`` explain afterwards what was read from
the cache. docs/tiers.md explains the policies and measures them.
"""
