"""The store: plain SQL over one transaction. Rows are loaded under the write lock, decided over, and written once."""
