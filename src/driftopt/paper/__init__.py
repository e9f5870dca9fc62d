"""The paper's experiment section: its protocol, its tables, its figure, and a report."""
