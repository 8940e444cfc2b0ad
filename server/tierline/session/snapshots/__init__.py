"""Contents of files before Tierline changed them, and going back to an earlier moment."""
