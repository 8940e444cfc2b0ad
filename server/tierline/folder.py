"""The name of Tierline's folder in a workspace."""

FOLDER = ".tierline"
