"""`python -m moorage` is `moorage`."""

from moorage.cli.main import main

main()
