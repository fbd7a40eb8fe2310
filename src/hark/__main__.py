"""`python -m hark`, which is what torchrun starts."""

from hark.cli import main

if __name__ == "__main__":
    main()
