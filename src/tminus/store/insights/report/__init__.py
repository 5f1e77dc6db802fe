"""The report of a batch: everything that people without a login are told about a wave, and nothing else.

One record says how it went (counts, phases, failures by cause, who came and who went, holds and who decided, what
people did), and pages of rows say it member by member. No data, parameter or output of a member is in it, and what
looks like a secret in a message is covered. Nothing here knows whether it becomes a page, a table or text.
"""
