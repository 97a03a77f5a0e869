"""The tasks of the repository, one kind a file; noxfile.py imports them all."""
