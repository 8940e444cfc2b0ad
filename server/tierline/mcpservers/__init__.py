"""MCP servers whose tools the model may call: which there are, and the connection to one."""
