"""What tests of several folders share: inputs, workspaces, sessions, rules."""
