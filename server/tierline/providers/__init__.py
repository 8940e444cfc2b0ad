"""Wire formats: render a prompt to a request body, stream the reply back."""
