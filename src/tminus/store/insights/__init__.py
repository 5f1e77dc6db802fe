"""Insights: every read that a face shows. Short, paged by key, and without any effect.

A page is one statement; a caller that wants more asks again behind the last row, so that no snapshot is held while
somebody reads. Rows come out as records: plain maps whose keys are the columns of the contract, JSON columns read and
without their suffix, booleans as booleans. Nothing here decides anything or knows how a record is shown.
"""
