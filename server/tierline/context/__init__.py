"""Pure domain: items, tokens, file context, budget, plans and prompt assembly."""
