"""The file system and the editor's buffers: roots, paths, ignore rules, secrets."""
