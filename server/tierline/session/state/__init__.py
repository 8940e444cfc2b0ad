"""What several parts of a session read: the settings in force, and the turns under way."""
