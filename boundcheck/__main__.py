"""``python -m boundcheck`` is the ``boundcheck`` program."""

from boundcheck.cli import main

if __name__ == "__main__":
    main()
