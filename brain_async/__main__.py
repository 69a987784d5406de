"""``python -m brain_async`` is the ``brain`` command."""

from __future__ import annotations

from brain_async.cli.app import main

if __name__ == "__main__":
    main()
