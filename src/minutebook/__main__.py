"""`python -m minutebook` is the command line."""

from minutebook.cli import main

if __name__ == "__main__":
    main()
