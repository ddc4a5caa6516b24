"""The view of the cluster, the choice of searches, and statuses; `placement` decides on one job."""
