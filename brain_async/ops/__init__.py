"""The verbs, one file each; every one reads as its data path, top to bottom."""
