"""What a Job's spec asks for: accepted or refused, and made into the inputs of a plan.

When it is taken up is the business of the life cycle, whose modules lie above (`deciding.py`).
"""
