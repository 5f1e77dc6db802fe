"""What ships for testing: behavioural suites, a manual clock, factories and the simulator."""
