"""Runners: what calls the functions that steps name. They know jobs and answers, nothing of batches, rows or clocks."""
