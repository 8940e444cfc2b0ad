"""Tierline as an agent of the Agent Client Protocol: for editors with a chat panel of their own.

An edge like ``lsp/``: it reads requests, calls the session, and translates its events into the
protocol. Source: https://agentclientprotocol.com, and the official Python package's ``acp.schema``.
"""
