"""The report of a batch as a document: a page, a table, a text. What is in it is computed by the insights."""
