"""What operators may do, decided like everything else: one event, one decision, one transaction, one audit row."""
