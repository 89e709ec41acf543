"""Sentences made of findings; nothing else makes sentences about results."""
