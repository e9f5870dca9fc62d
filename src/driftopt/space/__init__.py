"""What a decision may be: the way out, from a method's point to the decision to deploy."""
