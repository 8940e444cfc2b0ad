"""Tierline as an agent of the Agent Client Protocol: for editors with a chat panel of their own.

An edge like ``lsp/``: it reads requests, asks the session, and says what happens in the protocol's
words. Source: https://agentclientprotocol.com, and the official Python package's ``acp.schema``.
"""
