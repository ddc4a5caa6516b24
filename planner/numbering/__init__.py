"""What outlives a plan: the plan record, and ids that are given once for the life of a job."""
