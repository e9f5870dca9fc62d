"""What is made of an answer before a method is told: the way in."""
