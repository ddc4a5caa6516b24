"""hostpool-manager: which nodes a job with host constraints runs on, or why on none."""
