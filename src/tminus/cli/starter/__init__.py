"""The files that `tminus init` writes, as they are; tests run them."""
