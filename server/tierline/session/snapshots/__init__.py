"""What files said before Tierline changed them, and the way back to an earlier moment."""
